import { Type } from 'typebox'
import { endpoint, NoData } from '../../api/endpoint.ts'
import { Reply } from '../../api/reply.ts'
import { closed } from '../../model/fields.ts'
import { SHARED } from '../../model/node.ts'
import type { SectionName } from '../../model/sections.ts'
import { OpenedSession } from '../../model/session.ts'
import { enforcedSso } from '../../rules/enforced-sso.ts'
import { cookieValue } from '../../base/cookies.ts'
import { openedSession } from './opened-session.ts'
import { isOfOwnPage, PAGE_KEY, pageKeyIn, SITE } from './own-page.ts'

const text = (description: string) => Type.String({ description })

/** An e-mail address, or a name that a RADIUS server knows. */
const LoginName = Type.String({
  minLength: 1,
  maxLength: 254,
  pattern: '^[^\\u0000-\\u001f\\u007f]+$',
  description: 'E-mail of a local user, or name of a RADIUS user.',
})

const FreshToken = Type.Object({ token: text('JWT; valid for one hour, but no longer than the session.') })

/**
 * Cookie with which a browser keeps the admin page logged in. It only obtains a fresh token, together with the key of
 * this origin: no other endpoint accepts it, so it cannot be used to forge a request.
 */
const COOKIE = '__Host-fulcrum'
/** Lifetime of the cookie; the ticket in it ends with its session, which is decisive. */
const SESSION_S = 12 * 3600
const cookieHeader = (value: string, seconds: number) =>
  `${COOKIE}=${value}; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=${seconds}`

const LoginOptions = Type.Object({
  loginType: Type.Enum(['password', 'saml', 'oidc'], { description: 'Method by which this identity logs in.' }),
  ssoEnforced: Type.Boolean({ description: 'Whether password login is off.' }),
  samlConfigured: Type.Boolean({ description: 'Whether single sign-on by SAML is configured.' }),
  samlEnforced: Type.Boolean({ description: 'Whether only SAML may be used.' }),
  oidcConfigured: Type.Boolean({ description: 'Whether single sign-on by OpenID Connect is configured.' }),
  oidcEnforced: Type.Boolean({ description: 'Whether passwords are off and OpenID Connect must be used.' }),
  '2faRequired': Type.Boolean({
    description: 'Whether all users need a second factor; a second factor that a user has set up is always required.',
  }),
})

function loginTypeOf(enforced: ReadonlySet<SectionName>): 'password' | 'saml' | 'oidc' {
  if (enforced.has('samlConfigs')) return 'saml'
  return enforced.has('oidcConfigs') ? 'oidc' : 'password'
}

const CONFIRM_PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Fulcrum</title>
<h1>Connection confirmed</h1><p>Your browser accepts the certificate of this appliance. You may close this page.</p></html>`

export const auth = [
  endpoint({
    name: 'auth.confirm',
    method: 'GET',
    path: '/confirm',
    effect: 'read',
    access: 'public',
    summary: 'Page that confirms that the browser accepts the certificate',
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
    summary: 'Read how an identity logs in; the answer is the same for known and unknown e-mail addresses',
    message: 'Login options',
    body: closed({ email: LoginName }),
    data: LoginOptions,
    // The answer is the same for every e-mail address, known or not: a difference would reveal which accounts exist, or
    // which one is the break-glass user.
    handle: (ctx) => {
      const enforced = new Set(enforcedSso(ctx.running).map(({ section }) => section))
      const policy = ctx.running.get('loginPolicies', SHARED)
      return {
        loginType: loginTypeOf(enforced),
        ssoEnforced: enforced.size > 0,
        samlConfigured: ctx.running.get('samlConfigs', SHARED)?.enabled === true,
        samlEnforced: enforced.has('samlConfigs'),
        oidcConfigured: ctx.running.get('oidcConfigs', SHARED)?.enabled === true,
        oidcEnforced: enforced.has('oidcConfigs'),
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
    summary: 'Check whether the API responds',
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
    summary: 'Renew the token of the current session; call this before the old one expires',
    message: 'Token refreshed',
    headers: [SITE, PAGE_KEY],
    sends: ['Set-Cookie'],
    data: FreshToken,
    handle: (ctx, { headers }) => {
      const token = ctx.sessions.token(ctx.actor.sessionId)
      // A user who reloads the admin page should stay logged in; a program has no use for a cookie.
      const key = pageKeyIn(headers)
      if (key === '') return { token }
      const cookie = cookieHeader(ctx.sessions.ticket(ctx.actor.sessionId, key), SESSION_S)
      return Reply.with({ token }, { headers: { 'Set-Cookie': cookie } })
    },
  }),
  endpoint({
    name: 'auth.resume',
    method: 'POST',
    path: '/token/resume',
    effect: 'read',
    access: 'public',
    extension: true,
    headers: ['cookie', SITE, PAGE_KEY],
    summary: 'Renew the token of this browser’s session; used by the admin page when it is opened again',
    message: 'Session resumed',
    data: Type.Object({
      token: Type.Union([Type.String(), Type.Null()], {
        description:
          'JWT; valid for one hour, but no longer than the session. null if this browser no longer has a session.',
      }),
    }),
    handle: (ctx, { headers }) => {
      const key = pageKeyIn(headers)
      const ticket = key === '' ? '' : cookieValue(headers['cookie'] ?? '', COOKIE)
      return { token: ctx.sessions.resume(ticket, key) ?? null }
    },
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
      'Returns a token for the header Authorization: it is valid for one hour, and GET /token renews it during the session',
    message: 'Login successful',
    body: closed({
      email: LoginName,
      password: Type.String({ minLength: 1, maxLength: 1024, description: 'Password; at most 1024 characters.' }),
      code: Type.Optional(
        Type.String({
          maxLength: 64,
          description: 'Code of the second factor, or a recovery code; if a second factor is set up.',
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
    headers: [SITE],
    sends: ['Set-Cookie'],
    summary: 'Log out: the session and all its tokens end immediately; called with an API token, that token is revoked',
    message: 'Logged out',
    data: NoData,
    handle: async (ctx, { headers }) => {
      await ctx.accounts.endOwn(ctx.actor)
      return isOfOwnPage(headers) ? Reply.with([], { headers: { 'Set-Cookie': cookieHeader('', 0) } }) : []
    },
  }),
]
