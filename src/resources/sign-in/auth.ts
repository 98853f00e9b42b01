import { Type } from 'typebox'
import { endpoint, NoData } from '../../api/endpoint.ts'
import { Reply } from '../../api/reply.ts'
import { closed } from '../../model/fields.ts'
import { SHARED } from '../../model/node.ts'
import { OpenedSession } from '../../model/session.ts'
import { openedSession } from './opened-session.ts'

const text = (description: string) => Type.String({ description })

/** An e-mail, or what a RADIUS server knows somebody by. */
const LoginName = Type.String({
  minLength: 1,
  maxLength: 254,
  pattern: '^[^\\u0000-\\u001f\\u007f]+$',
  description: 'E-mail of a local user, or name of a user of the RADIUS server.',
})

const LoginOptions = Type.Object({
  loginType: Type.Enum(['password', 'saml'], { description: 'How this identity logs in.' }),
  ssoEnforced: Type.Boolean({ description: 'Password login is off.' }),
  samlConfigured: Type.Boolean({ description: 'Single sign-on by SAML is set up.' }),
  samlEnforced: Type.Boolean({ description: 'Only SAML logs in.' }),
  '2faRequired': Type.Boolean({
    description: 'Everybody needs a second factor; one that a user has set up is asked for in any case.',
  }),
})

const CONFIRM_PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Fulcrum</title>
<h1>Connection confirmed</h1><p>Your browser accepts the certificate of this appliance. You may close this page.</p></html>`

export const auth = [
  endpoint({
    name: 'auth.confirm',
    method: 'GET',
    path: '/confirm',
    effect: 'read',
    access: 'public',
    summary: 'Page that confirms the browser accepts the certificate',
    message: 'A JSON string that holds an HTML page.',
    whole: Type.String({ description: 'HTML.' }),
    handle: () => Reply.bytes({ body: JSON.stringify(CONFIRM_PAGE), contentType: 'application/json' }),
  }),
  endpoint({
    name: 'auth.options',
    method: 'POST',
    path: '/login/options',
    effect: 'act',
    access: 'public',
    staged: true,
    summary: 'How an identity logs in; the same answer for known and unknown e-mails',
    message: 'Login options',
    body: closed({ email: LoginName }),
    data: LoginOptions,
    // The same for every e-mail, known or not: an answer that differs would tell who has an account, or which one
    // breaks glass.
    handle: (ctx) => {
      const saml = ctx.running.get('samlConfigs', SHARED)
      const isConfigured = saml?.enabled === true
      const isEnforced = isConfigured && saml.enforced
      const policy = ctx.running.get('loginPolicies', SHARED)
      return {
        loginType: isEnforced ? ('saml' as const) : ('password' as const),
        ssoEnforced: isEnforced,
        samlConfigured: isConfigured,
        samlEnforced: isEnforced,
        '2faRequired': policy?.twoFactorRequired === true,
      }
    },
  }),
  endpoint({
    name: 'auth.ping',
    method: 'GET',
    path: '/ping',
    effect: 'read',
    access: 'public',
    summary: 'Whether the API answers',
    message: 'pong',
    data: NoData,
    handle: () => [],
  }),
  endpoint({
    name: 'auth.refresh',
    method: 'GET',
    path: '/token',
    effect: 'read',
    access: 'authenticated',
    summary: 'A fresh token for the running session; call it before the old one expires',
    message: 'Token refreshed',
    data: Type.Object({ token: text('JWT; lives one hour, never beyond the session.') }),
    handle: (ctx) => ({ token: ctx.sessions.token(ctx.actor.sessionId) }),
  }),
  endpoint({
    name: 'auth.login',
    method: 'POST',
    path: '/token',
    effect: 'act',
    access: 'public',
    staged: true,
    refuses: [
      'TOO_MANY_AT_ONCE',
      'INVALID_CREDENTIALS',
      'TWO_FACTOR_REQUIRED',
      'TWO_FACTOR_INVALID',
      'USER_DISABLED',
      'SSO_ENFORCED',
      'RATE_LIMITED',
    ],
    summary: 'Log in with e-mail and password',
    about:
      'Answers a token for the header Authorization: it lives one hour, and GET /token renews it while the session lives',
    message: 'Login successful',
    body: closed({
      email: LoginName,
      password: Type.String({ minLength: 1, maxLength: 1024, description: 'Password; at most 1024 characters.' }),
      code: Type.Optional(
        Type.String({
          maxLength: 64,
          description: 'Code of the second factor, or a recovery code; where one is set up.',
        }),
      ),
    }),
    data: OpenedSession,
    handle: async (ctx, { body }) => openedSession(ctx, await ctx.login.login(body, ctx.client.address)),
  }),
  endpoint({
    name: 'auth.logout',
    method: 'DELETE',
    path: '/token',
    effect: 'act',
    access: 'authenticated',
    extension: true,
    ofAnyCaller: true,
    summary: 'Log out: the session and every token of it end at once, and so does an API token that asks for it',
    message: 'Logged out',
    handle: (ctx) => ctx.accounts.endOwn(ctx.actor),
  }),
]
