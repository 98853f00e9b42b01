import { Type } from 'typebox'
import { Moment, MomentOrNull, newIdOf, titled } from './fields.ts'

/** Sessions and tokens as the API shows them. */

const text = (description: string) => Type.String({ description })

const Licence = Type.Object(
  {
    updateType: text('Kind of updates.'),
    platform: text('Operating system family.'),
    serial: text('Serial number; empty.'),
    model: text('Product name.'),
    supportExpired: Type.Boolean({ description: 'Always false.' }),
    daysToExpire: Type.Integer({ description: 'Days until supportExpireDate.' }),
    companyName: text('Licensee; empty.'),
    maxVips: Type.Integer({ description: 'Maximum number of frontends; 2147483647 is unlimited.' }),
    maxRips: Type.Integer({ description: 'Maximum number of real servers; 2147483647 is unlimited.' }),
    supportExpireDate: text('DD/MM/YYYY.'),
    modules: Type.Array(
      Type.Object({
        name: text('Module.'),
        fullName: text('Display name of the module.'),
        enabled: Type.Boolean({ description: 'Whether the module may be used.' }),
      }),
      { description: 'Parts of the product.' },
    ),
    licenceType: text('Always community.'),
  },
  { title: 'Licence', description: 'Licence of this installation.' },
)

export const OpenedSession = titled('OpenedSession', {
  user: Type.Object(
    {
      id: text('User id.'),
      email: text('Login name.'),
      name: text('First and last name.'),
      extra: Type.Array(Type.Unknown(), { description: 'Empty.' }),
    },
    { description: 'The user who logged in.' },
  ),
  token: text('JWT for the header Authorization: Bearer; valid for one hour, the session for twelve.'),
  appliance_id: text('Id of the answering node.'),
  applianceVersion: text('Version of the software.'),
  licence: Licence,
  mustEnrol: Type.Optional(
    Type.Boolean({
      description:
        'Whether a second factor must be set up first, POST /localUsers/me/2fa: until then nothing else is granted.',
    }),
  ),
})

export const SessionShown = titled('Session', {
  id: newIdOf('Session id.'),
  userId: text('User.'),
  name: text('Login name; empty if the user no longer exists.'),
  address: text('Client address of the login.'),
  via: Type.Enum(['password', 'radius', 'saml', 'oidc'], { description: 'How the session was opened.' }),
  createdAt: Moment('ISO 8601.'),
  expiresAt: Moment('ISO 8601; twelve hours after the login.'),
  isCurrent: Type.Boolean({ description: 'Whether it is the session of this request.' }),
})

export const TokenShown = titled('ApiToken', {
  id: newIdOf('Token id.'),
  userId: text('Id of the user whose rights limit those of the token.'),
  userName: text('Login name of that user.'),
  name: text('Name.'),
  endpoints: Type.Union([Type.Array(Type.String()), Type.Null()], {
    description: 'Ids of the endpoints that the token may use; null: all that its user may use.',
  }),
  createdAt: Moment('ISO 8601.'),
  expiresAt: MomentOrNull('ISO 8601; null: valid until it is revoked.'),
})

/** Sessions are listed oldest first. */
export const placeOfSession = ({ createdAt, id }: { readonly createdAt: string; readonly id: string }): string =>
  `${createdAt} ${id}`
