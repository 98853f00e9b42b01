import { Type, type Static } from 'typebox'
import { Ids } from './access.ts'
import { closed, Id, Line, Moment, Port, refersTo } from './fields.ts'

/** Ways to log in other than with a password of this appliance. One record of each for the cluster. */

export const RADIUS_HOSTS_MAX = 16
export const RADIUS_PROTOCOLS = ['PAP', 'CHAP', 'MSCHAPv2'] as const

export const RadiusHost = closed({
  host: Type.String({ minLength: 1, maxLength: 253, description: 'Host name or address of the server.' }),
  port: Type.Union([Port, Type.Null()], { description: 'UDP port, 1 to 65535; null for the common one.' }),
  sharedSecret: Line(128, 'Secret of this server; empty for the common one; secret.'),
  priority: Type.Integer({ minimum: 0, maximum: 65_535, description: 'The lowest is asked first, 0 to 65535.' }),
})
export type RadiusHost = Static<typeof RadiusHost>

export const GroupMapping = closed({
  value: Line(253, 'Value of the group attribute.'),
  groupId: refersTo(Id, 'groups'),
})

export const RadiusConfig = closed({
  id: Id,
  enabled: Type.Boolean({ description: 'Whether users unknown here are asked for at the RADIUS servers.' }),
  port: Port,
  authProtocol: Type.Enum([...RADIUS_PROTOCOLS], { description: 'How the password is sent.' }),
  sharedSecret: Line(128, 'Secret shared with the servers; secret.'),
  timeout: Type.Integer({ minimum: 1, maximum: 60, description: 'Wait for one answer. Seconds, 1 to 60.' }),
  retries: Type.Integer({ minimum: 0, maximum: 10, description: 'Further attempts at one server, 0 to 10.' }),
  nasIdentifier: Line(253, 'Name of this appliance for the servers; empty for its host name.'),
  requireMessageAuthenticator: Type.Boolean({
    description: 'Whether answers without Message-Authenticator are ignored.',
  }),
  hosts: Type.Array(RadiusHost, { maxItems: RADIUS_HOSTS_MAX, description: 'The servers.' }),
  groupAttribute: Line(64, 'Attribute of the answer that names groups.'),
  groupMappings: Type.Array(GroupMapping, { maxItems: 1000, description: 'Which value puts a user into which group.' }),
  denyUnmapped: Type.Boolean({ description: 'Whether a user whom no mapping puts into a group is refused.' }),
})
export type RadiusConfig = Static<typeof RadiusConfig>

/** A user who logged in through RADIUS; created at the first login. */
export const RadiusUser = closed({
  id: Id,
  username: Line(253, 'Name at the RADIUS server.'),
  disabled: Type.Boolean({ description: 'A disabled user cannot log in and holds no session.' }),
  groups: Ids('groups', 'Groups by the mappings, as of the last login.'),
  createdAt: Moment('First login, ISO 8601.'),
})
export type RadiusUser = Static<typeof RadiusUser>

const BreakGlass = refersTo(
  Type.String({
    maxLength: 64,
    description: 'Local user who may always log in with a password; empty for none.',
  }),
  'users',
)

export const SamlConfig = closed({
  id: Id,
  enabled: Type.Boolean({ description: 'Whether users may log in through the identity provider.' }),
  enforced: Type.Boolean({ description: 'Whether only the break-glass user may log in with a password.' }),
  idpEntityId: Line(1024, 'Entity id of the identity provider.'),
  idpSsoUrl: Line(2048, 'Where the identity provider takes requests (HTTP-Redirect binding).'),
  idpCertificates: Type.Array(Type.String({ maxLength: 16_384, description: 'PEM.' }), {
    maxItems: 8,
    description: 'Certificates that the identity provider signs with; several while they are rolled over.',
  }),
  baseUrl: Line(1024, 'How browsers reach this API, such as https://lb.example.org:9443.'),
  emailAttribute: Line(256, 'Attribute that holds the e-mail of the user; empty for the NameID.'),
  breakGlassUserId: BreakGlass,
})
export type SamlConfig = Static<typeof SamlConfig>

export const OIDC_MAPPINGS_MAX = 200

export const OidcGroupMapping = closed({
  group: Type.String({
    minLength: 1,
    maxLength: 256,
    pattern: '^[^\\u0000-\\u001f\\u007f]+$',
    description: 'Group, exactly as the claim names it: a name, a path or an id. Up to 256 characters.',
  }),
  roles: Type.Array(refersTo(Id, 'roles'), {
    minItems: 1,
    maxItems: 100,
    uniqueItems: true,
    description: 'Ids of the roles that its members hold.',
  }),
})

export const OidcConfig = closed({
  id: Id,
  enabled: Type.Boolean({ description: 'Whether users may log in through the provider.' }),
  enforced: Type.Boolean({ description: 'Whether only the break-glass user may log in with a password.' }),
  issuer: Line(1024, 'Issuer, as the provider writes it: https, and what it publishes of itself is found below it.'),
  clientId: Line(256, 'What the provider knows this appliance by.'),
  clientSecret: Line(1024, 'Secret that the provider gave for it; empty for a client without one; secret.'),
  baseUrl: Line(1024, 'How browsers reach this API, such as https://lb.example.org:9443.'),
  scopes: Type.Array(Type.String({ pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,128}$', description: 'Scope.' }), {
    minItems: 1,
    maxItems: 16,
    description: 'What is asked for; openid is needed.',
  }),
  emailClaim: Type.String({ minLength: 1, maxLength: 256, description: 'Claim that holds the e-mail of the user.' }),
  caCertificate: Type.String({
    maxLength: 65_536,
    description: 'PEM of the authorities that issue the certificate of the provider; empty for the common ones.',
  }),
  breakGlassUserId: BreakGlass,
  groupsClaim: Type.Optional(
    Type.Union([Type.String({ minLength: 1, maxLength: 256 }), Type.Null()], {
      description:
        'Claim of the ID token that names the groups of the user, a list or one text; null: only local users are let in.',
    }),
  ),
  groupMappings: Type.Optional(
    Type.Array(OidcGroupMapping, {
      maxItems: OIDC_MAPPINGS_MAX,
      description:
        'Which group gives which roles to people who are not local users. A local user has the rights of the record.',
    }),
  ),
  denyUnmapped: Type.Optional(
    Type.Boolean({ description: 'Whether people who are neither local users nor in a mapped group are refused.' }),
  ),
})
export type OidcConfig = Static<typeof OidcConfig>

export const LoginPolicy = closed({
  id: Id,
  twoFactorRequired: Type.Boolean({
    description: 'Whether a local user without a second factor can do nothing but set one up.',
  }),
})
export type LoginPolicy = Static<typeof LoginPolicy>
