import { Type } from 'typebox'
import { endpoint } from '../../api/endpoint.ts'
import { refuseFields } from '../../base/errors.ts'
import { MASK } from '../../base/mask.ts'
import { SHARED } from '../../model/node.ts'
import { OpenedSession } from '../../model/session.ts'
import { OidcConfig } from '../../model/sign-in.ts'
import { mergedOidc, NO_OIDC, oidcProblems, SentOidc } from '../../rules/oidc.ts'
import { openedSession } from './opened-session.ts'
import { isOfOwnPage, SITE } from './own-page.ts'
import { CodeBody, doneLogin, PAGE_SENDS, sentAway } from './sso-page.ts'

const { id: _, ...fields } = Type.Required(OidcConfig).properties
const { clientSecret: __, ...CLEARED } = NO_OIDC

const Shown = Type.Object({
  ...fields,
  clientSecret: Type.Enum(['', MASK], { description: '** if a secret is stored, otherwise empty.' }),
})

const ignored = Type.Optional(Type.String({ maxLength: 2048, description: 'Ignored.' }))
/** Providers may add parameters; unknown ones must be ignored (RFC 6749, section 4.1.2). */
const Callback = Type.Object({
  state: Type.Optional(Type.String({ maxLength: 256, description: 'State with which this login was started.' })),
  code: Type.Optional(Type.String({ maxLength: 8192, description: 'Authorization code of the provider.' })),
  iss: Type.Optional(Type.String({ maxLength: 1024, description: 'Issuer (RFC 9207).' })),
  error: Type.Optional(Type.String({ maxLength: 256, description: 'Error code of the provider.' })),
  error_description: ignored,
  session_state: ignored,
  scope: ignored,
})

export const oidc = [
  endpoint({
    name: 'oidc.config',
    method: 'GET',
    path: '/oidc/config',
    effect: 'read',
    extension: true,
    summary: 'Read the OpenID Connect settings',
    message: 'OIDC configuration',
    data: Shown,
    handle: (ctx) => {
      const { id: _id, ...stored } = { ...NO_OIDC, ...ctx.section('oidcConfigs').settings(SHARED), id: SHARED }
      return { ...stored, clientSecret: stored.clientSecret === '' ? ('' as const) : MASK }
    },
  }),
  endpoint({
    name: 'oidc.update',
    method: 'PUT',
    path: '/oidc/config',
    effect: 'stage',
    extension: true,
    refuses: ['PASSWORD_NOT_STORED'],
    summary: 'Set up logins by OpenID Connect; omitted fields keep their value',
    message: 'OIDC configuration stored',
    body: SentOidc,
    whenNull: CLEARED,
    rules: oidcProblems,
    handle: (ctx, { body }) => {
      const section = ctx.section('oidcConfigs')
      const { settings, problems } = mergedOidc(body, section.settings(SHARED) ?? NO_OIDC)
      refuseFields(problems)
      section.put({ ...settings, id: SHARED }, NO_OIDC)
    },
  }),
  endpoint({
    extension: true,
    name: 'oidc.login',
    status: 303,
    method: 'GET',
    path: '/oidc/login',
    effect: 'read',
    access: 'public',
    produces: ['text/html'],
    sends: ['Set-Cookie', ...PAGE_SENDS],
    refuses: ['NOT_FOUND', 'INVALID_CREDENTIALS'],
    summary: 'Start a login at the OpenID provider: redirects the browser',
    refusedAtPage: true,
    about: 'If the login is refused, the browser is sent to the admin page, with the error code after the #',
    message: 'A redirect (303) to the identity provider.',
    headers: [SITE],
    handle: async (ctx, { headers }) => sentAway(await ctx.oidc.begin(isOfOwnPage(headers))),
  }),
  endpoint({
    extension: true,
    name: 'oidc.callback',
    method: 'GET',
    path: '/oidc/callback',
    effect: 'read',
    access: 'public',
    headers: ['cookie'],
    produces: ['text/html'],
    sends: PAGE_SENDS,
    refuses: ['NOT_FOUND', 'INVALID_CREDENTIALS', 'RATE_LIMITED'],
    maySendOn: true,
    refusedAtPage: true,
    summary: 'Redirect URI of the OpenID provider: shows a code that opens one session',
    about:
      'If the admin page started the login, the browser is sent back there with the code after the #; if the login is refused, with the error code',
    message: 'A page with a code for POST /oidc/token.',
    query: Callback,
    handle: async (ctx, { query: { state, code, iss, error }, headers }) => {
      const given = Object.entries({ state, code, iss, error }).filter(([, value]) => value !== undefined)
      const answer = new URLSearchParams(given as [string, string][])
      return doneLogin(await ctx.oidc.finish(ctx, answer, headers['cookie'] ?? ''), 'oidc')
    },
  }),
  endpoint({
    extension: true,
    name: 'oidc.token',
    method: 'POST',
    path: '/oidc/token',
    effect: 'act',
    access: 'public',
    refuses: ['NOT_FOUND', 'INVALID_CREDENTIALS', 'USER_DISABLED', 'RATE_LIMITED', 'TOO_MANY_AT_ONCE', 'NOT_SUPPORTED'],
    summary: 'Open a session with the code that the page after a login by OpenID Connect shows',
    message: 'Login successful',
    headers: ['cookie'],
    body: CodeBody,
    data: OpenedSession,
    handle: async (ctx, { body, headers }) =>
      openedSession(ctx, await ctx.oidc.redeem(ctx, body.code, headers['cookie'] ?? '')),
  }),
]
