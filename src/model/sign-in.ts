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
  priority: Type.Integer({
    minimum: 0,
    maximum: 65_535,
    description: 'Servers with lower values are asked first, 0 to 65535.',
  }),
})
export type RadiusHost = Static<typeof RadiusHost>

export const GroupMapping = closed({
  value: Line(253, 'Value of the group attribute.'),
  groupId: refersTo(Id, 'groups'),
})

export const RadiusConfig = closed({
  id: Id,
  enabled: Type.Boolean({ description: 'Whether users who are not local are authenticated by the RADIUS servers.' }),
  port: Port,
  authProtocol: Type.Enum([...RADIUS_PROTOCOLS], { description: 'Protocol for sending the password.' }),
  sharedSecret: Line(128, 'Secret shared with the servers; secret.'),
  timeout: Type.Integer({
    minimum: 1,
    maximum: 60,
    description:
      'Timeout for one answer. Seconds, 1 to 60. A login waits at most 45 seconds for all servers, of which each has its share.',
  }),
  retries: Type.Integer({ minimum: 0, maximum: 10, description: 'Further attempts per server, 0 to 10.' }),
  nasIdentifier: Line(253, 'NAS identifier sent to the servers; empty for the host name.'),
  requireMessageAuthenticator: Type.Boolean({
    description: 'Whether answers without Message-Authenticator are ignored.',
  }),
  hosts: Type.Array(RadiusHost, { maxItems: RADIUS_HOSTS_MAX, description: 'The servers.' }),
  groupAttribute: Line(64, 'Attribute of the answer that contains groups.'),
  groupMappings: Type.Array(GroupMapping, {
    maxItems: 1000,
    description: 'Groups of users by the value of the attribute.',
  }),
  denyUnmapped: Type.Boolean({ description: 'Whether users to whom no mapping applies are refused.' }),
})
export type RadiusConfig = Static<typeof RadiusConfig>

/** A user who logged in through RADIUS; created at the first login. */
export const RadiusUser = closed({
  id: Id,
  username: Line(253, 'User name at the RADIUS server.'),
  disabled: Type.Boolean({ description: 'A disabled user cannot log in and holds no session.' }),
  groups: Ids('groups', 'Groups from the mappings, as of the last login.'),
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
  idpSsoUrl: Line(2048, 'URL of the identity provider for login requests (HTTP-Redirect binding).'),
  idpCertificates: Type.Array(Type.String({ maxLength: 16_384, description: 'PEM.' }), {
    maxItems: 8,
    description: 'Signing certificates of the identity provider; several during a rollover.',
  }),
  baseUrl: Line(1024, 'URL of this API for browsers, such as https://lb.example.org:9443.'),
  emailAttribute: Line(256, 'Attribute that contains the e-mail of the user; empty for the NameID.'),
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
    description: 'Ids of the roles that members of the group hold.',
  }),
})

export const OidcConfig = closed({
  id: Id,
  enabled: Type.Boolean({ description: 'Whether users may log in through the provider.' }),
  enforced: Type.Boolean({ description: 'Whether only the break-glass user may log in with a password.' }),
  issuer: Line(1024, 'Issuer, exactly as the provider writes it: an https URL, below which it publishes its metadata.'),
  clientId: Line(256, 'Client id of this appliance at the provider.'),
  clientSecret: Line(1024, 'Client secret from the provider; empty for a client without one; secret.'),
  baseUrl: Line(1024, 'URL of this API for browsers, such as https://lb.example.org:9443.'),
  scopes: Type.Array(Type.String({ pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,128}$', description: 'Scope.' }), {
    minItems: 1,
    maxItems: 16,
    description: 'Requested scopes; openid is required.',
  }),
  emailClaim: Type.String({ minLength: 1, maxLength: 256, description: 'Claim that contains the e-mail of the user.' }),
  caCertificate: Type.String({
    maxLength: 65_536,
    description: 'PEM of the authorities that issue the certificate of the provider; empty for the public ones.',
  }),
  breakGlassUserId: BreakGlass,
  groupsClaim: Type.Optional(
    Type.Union([Type.String({ minLength: 1, maxLength: 256 }), Type.Null()], {
      description:
        'Claim of the ID token that contains the groups of the user, a list or a string; null: only local users may log in.',
    }),
  ),
  groupMappings: Type.Optional(
    Type.Array(OidcGroupMapping, {
      maxItems: OIDC_MAPPINGS_MAX,
      description: 'Roles by group for users who are not local. A local user has the rights of the local record.',
    }),
  ),
  denyUnmapped: Type.Optional(
    Type.Boolean({ description: 'Whether users who are neither local nor in a mapped group are refused.' }),
  ),
})
export type OidcConfig = Static<typeof OidcConfig>

export const LoginPolicy = closed({
  id: Id,
  twoFactorRequired: Type.Boolean({
    description: 'Whether local users without a second factor can only set one up.',
  }),
})
export type LoginPolicy = Static<typeof LoginPolicy>
