import { Type, type Static } from 'typebox'
import { closed, Id, Line, Port, refersTo } from './fields.ts'
import { SHARED } from './node.ts'

/** The SNMP agent; one record for the cluster. */
export const SnmpSettings = closed({
  id: Id,
  enabledV2: Type.Boolean({ description: 'Whether version 2c is answered, to clients that know the community.' }),
  enabledV3: Type.Boolean({ description: 'Whether version 3 is answered, to the SNMP users.' }),
  community: Line(255, 'Community of version 2c, which reads and never writes; secret: ** keeps the stored one.'),
  location: Line(255, 'Where the appliance stands (sysLocation).'),
  contact: Line(255, 'Contact person (sysContact).'),
  serviceIpId: refersTo(
    Type.String({
      maxLength: 64,
      description:
        'Static or floating IP that the agent listens on; empty leaves the agent of the machine as it was found.',
    }),
    'staticIps',
    'floatingIps',
  ),
  port: Port,
  engineId: Type.String({
    pattern: '^[0-9a-f]{10,64}$',
    description: 'SNMP engine, hexadecimal: keys of users are made for this one and do not work with another.',
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
    description:
      'Whether the user may set snmpEnableAuthenTraps, the only object that can be set at all; false unless told.',
  }),
  authAlgorithm: Type.Enum([...AUTH_ALGORITHMS], { description: 'Hash of authentication; sha unless told.' }),
  privacyAlgorithm: Type.Enum([...PRIVACY_ALGORITHMS], { description: 'Cipher of privacy; aes unless told.' }),
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
