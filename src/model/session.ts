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
    maxVips: Type.Integer({ description: 'Most frontends; 2147483647 is unlimited.' }),
    maxRips: Type.Integer({ description: 'Most real servers; 2147483647 is unlimited.' }),
    supportExpireDate: text('DD/MM/YYYY.'),
    modules: Type.Array(
      Type.Object({
        name: text('Module.'),
        fullName: text('Module, for people.'),
        enabled: Type.Boolean({ description: 'Whether it may be used.' }),
      }),
      { description: 'Parts of the product.' },
    ),
    licenceType: text('Always community.'),
  },
  { title: 'Licence', description: 'Licence of the installation.' },
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
  token: text('JWT for the header Authorization: Bearer; lives one hour, the session twelve.'),
  appliance_id: text('Id of the node that answered.'),
  applianceVersion: text('Version of the software.'),
  licence: Licence,
  mustEnrol: Type.Optional(
    Type.Boolean({ description: 'Nothing else is granted until a second factor is set up: POST /localUsers/me/2fa.' }),
  ),
})

export const SessionShown = titled('Session', {
  id: newIdOf('Session id.'),
  userId: text('User.'),
  name: text('Login name; empty when the user is gone.'),
  address: text('Address that the login came from.'),
  via: Type.Enum(['password', 'radius', 'saml', 'oidc'], { description: 'How it was opened.' }),
  createdAt: Moment('ISO 8601.'),
  expiresAt: Moment('ISO 8601; twelve hours after the login.'),
  isCurrent: Type.Boolean({ description: 'The one that asks.' }),
})

export const TokenShown = titled('ApiToken', {
  id: newIdOf('Token id.'),
  userId: text('User whose rights it has at most.'),
  userName: text('Login name of that user.'),
  name: text('Name.'),
  endpoints: Type.Union([Type.Array(Type.String()), Type.Null()], {
    description: 'Ids of the endpoints it may use; null for all that its user may.',
  }),
  createdAt: Moment('ISO 8601.'),
  expiresAt: MomentOrNull('ISO 8601; null: until it is revoked.'),
})

/** Sessions are listed oldest first. */
export const placeOfSession = ({ createdAt, id }: { readonly createdAt: string; readonly id: string }): string =>
  `${createdAt} ${id}`
