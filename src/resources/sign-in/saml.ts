import { type Static, Type } from 'typebox'
import { endpoint } from '../../api/endpoint.ts'
import { refuseFields } from '../../base/errors.ts'
import { Reply } from '../../api/reply.ts'
import { closed, optional } from '../../model/fields.ts'
import { SHARED } from '../../model/node.ts'
import { OpenedSession } from '../../model/session.ts'
import { SamlConfig } from '../../model/sign-in.ts'
import { openedSession } from './opened-session.ts'
import { isOfOwnPage, SITE } from './own-page.ts'
import { CodeBody, doneLogin, PAGE_SENDS, sentAway } from './sso-page.ts'
import { fieldProblems, missingFor } from '../../rules/saml.ts'

const { id: _, ...fields } = SamlConfig.properties
const Shown = Type.Object(fields)
const Update = closed(optional(fields))
type Settings = Static<typeof Shown>

const NONE: Settings = {
  enabled: false,
  enforced: false,
  idpEntityId: '',
  idpSsoUrl: '',
  idpCertificates: [],
  baseUrl: '',
  emailAttribute: '',
  breakGlassUserId: '',
}

/** Answers of identity providers have about ten thousand characters. */
const RESPONSE_BYTES_MAX = 256 * 1024

export const saml = [
  endpoint({
    name: 'saml.config',
    method: 'GET',
    path: '/saml/config',
    effect: 'read',
    extension: true,
    summary: 'Read the SAML settings',
    message: 'SAML configuration',
    data: Shown,
    handle: (ctx) => {
      const stored = ctx.section('samlConfigs').settings(SHARED)
      if (stored === undefined) return NONE
      const { id: __, ...settings } = stored
      return settings
    },
  }),
  endpoint({
    name: 'saml.update',
    method: 'PUT',
    path: '/saml/config',
    effect: 'stage',
    extension: true,
    summary: 'Set up single sign-on; omitted fields keep their value',
    message: 'SAML configuration stored',
    body: Update,
    whenNull: NONE,
    rules: fieldProblems,
    handle: (ctx, { body }) => {
      const section = ctx.section('samlConfigs')
      const next: Settings & { id: string } = { ...NONE, ...section.settings(SHARED), ...body, id: SHARED }
      refuseFields([...fieldProblems(next), ...missingFor(next)])
      section.put(next, NONE)
    },
  }),
  endpoint({
    extension: true,
    name: 'saml.metadata',
    method: 'GET',
    path: '/saml/metadata',
    effect: 'read',
    access: 'public',
    produces: ['application/samlmetadata+xml'],
    refuses: ['NOT_FOUND'],
    summary: 'Metadata of this appliance for an identity provider',
    message: 'SAML 2.0 metadata of the service provider, XML.',
    handle: async (ctx) =>
      Reply.bytes({
        body: await ctx.sso.metadata(),
        contentType: 'application/samlmetadata+xml',
        cacheControl: 'no-store',
      }),
  }),
  endpoint({
    extension: true,
    name: 'saml.login',
    status: 303,
    method: 'GET',
    path: '/saml/login',
    effect: 'read',
    access: 'public',
    produces: ['text/html'],
    sends: ['Set-Cookie', ...PAGE_SENDS],
    refuses: ['NOT_FOUND'],
    summary: 'Start a login at the identity provider: redirects the browser',
    refusedAtPage: true,
    about: 'If the login is refused, the browser is sent to the admin page, with the error code after the #',
    message: 'A redirect (303) to the identity provider.',
    headers: [SITE],
    handle: (ctx, { headers }) => sentAway(ctx.sso.begin(isOfOwnPage(headers))),
  }),
  endpoint({
    extension: true,
    name: 'saml.acs',
    method: 'POST',
    path: '/saml/acs',
    effect: 'act',
    access: 'public',
    isForm: true,
    bodyBytes_max: RESPONSE_BYTES_MAX,
    headers: ['cookie'],
    produces: ['text/html'],
    sends: PAGE_SENDS,
    refuses: ['NOT_FOUND', 'INVALID_CREDENTIALS', 'USER_DISABLED', 'RATE_LIMITED', 'TOO_MANY_AT_ONCE'],
    maySendOn: true,
    refusedAtPage: true,
    summary: 'Assertion consumer service of the identity provider: shows a code that opens one session',
    about:
      'If the admin page started the login, the browser is sent back there with the code after the #; if the login is refused, with the error code',
    message: 'A page with a code for POST /saml/token.',
    body: closed({
      SAMLResponse: Type.String({ minLength: 1, maxLength: RESPONSE_BYTES_MAX, description: 'SAML response, base64.' }),
      RelayState: Type.Optional(Type.String({ maxLength: 1024, description: 'Ignored.' })),
    }),
    handle: async (ctx, { body, headers }) =>
      doneLogin(await ctx.sso.finish(ctx, body.SAMLResponse, headers['cookie'] ?? ''), 'saml'),
  }),
  endpoint({
    extension: true,
    name: 'saml.token',
    method: 'POST',
    path: '/saml/token',
    effect: 'act',
    access: 'public',
    refuses: ['NOT_FOUND', 'INVALID_CREDENTIALS', 'USER_DISABLED', 'RATE_LIMITED', 'TOO_MANY_AT_ONCE'],
    summary: 'Open a session with the code that the page after single sign-on shows',
    message: 'Login successful',
    headers: ['cookie'],
    body: CodeBody,
    data: OpenedSession,
    handle: async (ctx, { body, headers }) =>
      openedSession(ctx, await ctx.sso.redeem(ctx, body.code, headers['cookie'] ?? '')),
  }),
]
