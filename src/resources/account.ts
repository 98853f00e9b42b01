import { Type } from 'typebox'
import { endpoint } from '../api/endpoint.ts'
import { PAGE_DEFAULT } from '../api/lists.ts'
import { problemIn, refuseFields } from '../base/errors.ts'
import { Where } from '../model/access.ts'
import { closed, Id, MomentOrNull, Name, newIdOf } from '../model/fields.ts'
import { placeOfSession, SessionShown, TokenShown } from '../model/session.ts'

/** Operations that every user may do on the own account, whatever the roles; all of them act at once. */

const text = (description: string) => Type.String({ description })
const secret = (description: string) => Type.String({ minLength: 1, maxLength: 1024, description })
const own = { access: 'authenticated', extension: true } as const

const DAYS_MAX = 3650
const DAYS_DEFAULT = 365

const OwnAccount = Type.Object({
  id: text('User id.'),
  email: text('Login name.'),
  firstName: text('First name; empty for a user who is not local.'),
  lastName: text('Last name; empty for a user who is not local.'),
  kind: Type.Enum(['local', 'radius', 'oidc'], {
    description:
      'Where the password is stored; oidc: at an identity provider, and the identity here ends with its sessions.',
  }),
  groups: Type.Array(Type.String(), { description: 'Groups the user belongs to.' }),
  roles: Type.Array(Type.String(), {
    description: 'Roles that the user holds directly; with oidc, those that the groups at the provider are mapped to.',
  }),
  secondFactor: Type.Object(
    {
      enabled: Type.Boolean({ description: 'Whether a login needs a code.' }),
      since: MomentOrNull('When it was set up, ISO 8601; null without a second factor.'),
      recoveryCodesLeft: Type.Integer({ description: 'Number of unused recovery codes, 0 to 10.' }),
    },
    { description: 'Second factor.' },
  ),
  mustEnrol: Type.Boolean({
    description: 'Whether a second factor must be set up first: until then nothing else is granted.',
  }),
  nodeId: text('Id of the answering node.'),
  endpoints: Type.Array(Type.String(), {
    description:
      'Ids of the endpoints that you may use, see GET /rbac/endpoints, without those that everybody may use.',
  }),
  confined: Type.Array(Type.Object({ endpoint: text('Id of the endpoint.'), where: Where }), {
    description: 'Endpoints that you may use for some records only: those that match one of these conditions.',
  }),
})

const NewToken = closed({
  name: Name,
  endpoints: Type.Optional(
    Type.Array(Id, {
      maxItems: 1000,
      uniqueItems: true,
      description:
        'Ids of the endpoints that the token may use, see GET /rbac/endpoints; omitted: all that its user may use.',
    }),
  ),
  expiresInDays: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1, maximum: DAYS_MAX }), Type.Null()], {
      description: `Lifetime in days, 1 to ${DAYS_MAX}; default ${DAYS_DEFAULT}; null: until it is revoked.`,
    }),
  ),
})

const tokens = [
  endpoint({
    ...own,
    name: 'account.tokens',
    method: 'GET',
    path: '/localUsers/me/tokens',
    effect: 'read',
    summary: 'List your API tokens',
    message: 'API tokens',
    data: Type.Array(TokenShown),
    list: { searched: ['name', 'userName'], usual: PAGE_DEFAULT },
    handle: (ctx) => [...ctx.accounts.tokens(ctx.actor.userId)],
  }),
  endpoint({
    ...own,
    name: 'account.createToken',
    method: 'POST',
    path: '/localUsers/me/tokens',
    effect: 'act',
    status: 201,
    refuses: ['NAME_NOT_UNIQUE', 'LIMIT_REACHED', 'NOT_SUPPORTED'],
    summary: 'Create an API token for a program, with your rights or fewer; the token is shown only once',
    message: 'API token created; it is not shown again',
    body: NewToken,
    data: Type.Object({
      id: newIdOf('Token id.'),
      token: text('Token for the header Authorization: Bearer; not shown again.'),
    }),
    handle: (ctx, { body: { name, endpoints, expiresInDays = DAYS_DEFAULT } }) => {
      const known = new Set(ctx.catalog.list().map(({ id }) => id))
      const unknown = (endpoints ?? []).flatMap((id, index) => (known.has(id) ? [] : [{ id, index }]))
      refuseFields(
        unknown.map(({ id, index }) =>
          problemIn(`endpoints.${index}`, `must be an id of GET /rbac/endpoints: there is no ${id}`),
        ),
      )
      return ctx.accounts.createToken(ctx, { name, endpoints, expiresInDays })
    },
  }),
  endpoint({
    ...own,
    name: 'account.revokeToken',
    method: 'DELETE',
    path: '/localUsers/me/tokens/{id}',
    effect: 'act',
    summary: 'Revoke one of your API tokens immediately',
    message: 'API token {id} revoked',
    handle: (ctx, { params }) => ctx.accounts.revokeToken(params.id, ctx.actor.userId),
  }),
]

const secondFactor = [
  endpoint({
    ...own,
    name: 'account.beginSecondFactor',
    method: 'POST',
    path: '/localUsers/me/2fa',
    effect: 'act',
    refuses: ['IN_USE', 'INVALID_CREDENTIALS', 'RATE_LIMITED', 'NOT_SUPPORTED'],
    summary: 'Start setting up a second factor (TOTP); show the URI to the device as a QR code',
    message: 'Confirm with a code of the device: POST /localUsers/me/2fa/confirm',
    body: closed({ password: secret('Your password.') }),
    data: Type.Object({
      secret: text('Key for manual entry, base32. SHA-1, 6 digits, 30 seconds.'),
      uri: Type.String({ format: 'uri', description: 'otpauth URI for a QR code.' }),
      qr: text('QR code of the URI: an SVG image, which contains the secret.'),
    }),
    async handle(ctx, { body }) {
      const begun = await ctx.accounts.beginSecondFactor(ctx, body.password)
      // Loaded on demand: few users enrol, and a start need not wait for it.
      const { encodeQR } = await import('qr')
      return { ...begun, qr: encodeQR(begun.uri, 'svg') }
    },
  }),
  endpoint({
    ...own,
    name: 'account.confirmSecondFactor',
    method: 'POST',
    path: '/localUsers/me/2fa/confirm',
    effect: 'act',
    refuses: ['IN_USE', 'INVALID_CREDENTIALS', 'TWO_FACTOR_INVALID', 'RATE_LIMITED', 'NOT_SUPPORTED'],
    summary: 'Enable the second factor with a code from the device; returns the recovery codes, only once',
    message: 'Second factor is on; keep the recovery codes separate from the device',
    body: closed({ code: secret('Code from the device, six digits.') }),
    data: Type.Object({
      recoveryCodes: Type.Array(Type.String(), {
        description: 'Recovery codes, each valid for one login without the device.',
      }),
    }),
    handle: async (ctx, { body }) => {
      const { recoveryCodes } = await ctx.accounts.confirmSecondFactor(ctx, body.code)
      return { recoveryCodes: [...recoveryCodes] }
    },
  }),
  endpoint({
    ...own,
    name: 'account.removeSecondFactor',
    method: 'DELETE',
    path: '/localUsers/me/2fa',
    effect: 'act',
    refuses: ['INVALID_CREDENTIALS', 'TWO_FACTOR_INVALID', 'RATE_LIMITED', 'NOT_SUPPORTED', 'IN_USE'],
    summary: 'Disable your second factor',
    message: 'Second factor is off',
    body: closed({ password: secret('Your password.'), code: secret('Code from the device, or a recovery code.') }),
    handle: (ctx, { body }) => ctx.accounts.removeSecondFactor(ctx, body.password, body.code),
  }),
]

export const account = [
  endpoint({
    ...own,
    name: 'account.get',
    method: 'GET',
    path: '/localUsers/me',
    effect: 'read',
    summary: 'Read your own user and rights',
    message: 'Your account',
    data: OwnAccount,
    handle: (ctx) => {
      const { groups, roles, endpoints, confined, ...about } = ctx.accounts.own(ctx)
      const lists = { groups: [...groups], roles: [...roles], endpoints: [...endpoints], confined: [...confined] }
      return { ...about, nodeId: ctx.nodeId, ...lists }
    },
  }),
  endpoint({
    ...own,
    name: 'account.changePassword',
    method: 'PUT',
    path: '/localUsers/me/password',
    effect: 'act',
    refuses: ['INVALID_CREDENTIALS', 'PASSWORD_POLICY', 'RATE_LIMITED', 'NOT_SUPPORTED'],
    summary: 'Change your password immediately; your other sessions end',
    message: 'Password changed; your other sessions have ended',
    body: closed({
      currentPassword: secret('Current password.'),
      newPassword: secret('New password; at least 8 characters, and not a common password.'),
    }),
    handle: (ctx, { body }) => ctx.accounts.changePassword(ctx, body.currentPassword, body.newPassword),
  }),
  endpoint({
    ...own,
    name: 'account.sessions',
    method: 'GET',
    path: '/localUsers/me/sessions',
    effect: 'read',
    summary: 'List your sessions, at most 50, oldest first',
    message: 'Sessions',
    data: Type.Array(SessionShown),
    list: { searched: ['name', 'address'], usual: PAGE_DEFAULT, key: placeOfSession },
    handle: (ctx) => [...ctx.accounts.sessions(ctx, ctx.actor.userId)],
  }),
  endpoint({
    ...own,
    name: 'account.endSession',
    method: 'DELETE',
    path: '/localUsers/me/sessions/{id}',
    effect: 'act',
    summary: 'End one of your sessions immediately',
    message: 'Session {id} ended',
    handle: (ctx, { params }) => ctx.accounts.endSession(params.id, ctx.actor.userId),
  }),
  ...tokens,
  ...secondFactor,
]
