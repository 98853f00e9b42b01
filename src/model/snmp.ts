import { Type, type Static } from 'typebox'
import { closed, Id, Line, Port, refersTo } from './fields.ts'
import { SHARED } from './node.ts'

/** The SNMP agent; one record for the cluster. */
export const SnmpSettings = closed({
  id: Id,
  enabledV2: Type.Boolean({ description: 'Whether the agent answers version 2c, to clients that know the community.' }),
  enabledV3: Type.Boolean({ description: 'Whether the agent answers version 3, to the SNMP users.' }),
  community: Line(255, 'Community for version 2c, read-only; secret: ** keeps the stored one.'),
  location: Line(255, 'Location of the appliance (sysLocation).'),
  contact: Line(255, 'Contact person (sysContact).'),
  serviceIpId: refersTo(
    Type.String({
      maxLength: 64,
      description:
        'Static or floating IP that the agent listens on; if empty, the agent of the machine stays as it was found.',
    }),
    'staticIps',
    'floatingIps',
  ),
  port: Port,
  engineId: Type.String({
    pattern: '^[0-9a-f]{10,64}$',
    description:
      'SNMP engine id, hexadecimal: keys of users are localised to this engine and do not work with another.',
  }),
})
export type SnmpSettings = Static<typeof SnmpSettings>

/** The settings of a new installation. */
export const SNMP_OFF = {
  id: SHARED,
  enabledV2: false,
  enabledV3: false,
  community: '',
  location: '',
  contact: '',
  serviceIpId: '',
  port: 161,
  engineId: '',
} as const satisfies SnmpSettings

export const AUTH_ALGORITHMS = ['md5', 'sha', 'sha224', 'sha256', 'sha384', 'sha512'] as const
export const PRIVACY_ALGORITHMS = ['des', 'aes', 'aes192', 'aes256'] as const

/** A user of SNMP version 3. Its passphrases are kept only as keys localised for the engine. */
export const SnmpUser = closed({
  id: Id,
  username: Type.String({ pattern: '^[A-Za-z0-9._@-]{1,32}$', description: 'Security name, 1 to 32 characters.' }),
  writeAccess: Type.Boolean({
    description: 'Whether the user may set snmpEnableAuthenTraps, the only writable object; default false.',
  }),
  authAlgorithm: Type.Enum([...AUTH_ALGORITHMS], { description: 'Hash algorithm for authentication; default sha.' }),
  privacyAlgorithm: Type.Enum([...PRIVACY_ALGORITHMS], { description: 'Cipher for privacy; default aes.' }),
  authKey: Type.String({
    pattern: '^[0-9a-f]*$',
    maxLength: 128,
    description: 'Localised key, hexadecimal; empty without a passphrase; secret.',
  }),
  privacyKey: Type.String({
    pattern: '^[0-9a-f]*$',
    maxLength: 128,
    description: 'Localised key, hexadecimal; empty without a passphrase; secret.',
  }),
})
export type SnmpUser = Static<typeof SnmpUser>

/** Returns the passphrases whose keys the user lacks; the agent uses only users that lack none. */
export const missingOf = ({ authKey, privacyKey }: Pick<SnmpUser, 'authKey' | 'privacyKey'>): readonly string[] => [
  ...(authKey === '' ? ['authPassphrase'] : []),
  ...(privacyKey === '' ? ['privacyPassphrase'] : []),
]
