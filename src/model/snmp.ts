import { Type, type Static } from 'typebox'
import { closed, Id, Port } from './fields.ts'

const NO_CONTROL = '^[^\\u0000-\\u001f\\u007f]*$'
const line = (maxLength: number, description: string) =>
  Type.String({ maxLength, pattern: NO_CONTROL, description: `${description} Up to ${maxLength} characters.` })

/** The SNMP agent; one record for the cluster. */
export const SnmpSettings = closed({
  id: Id,
  enabledV2: Type.Boolean({ description: 'Whether version 2c is answered, to who knows the community.' }),
  enabledV3: Type.Boolean({ description: 'Whether version 3 is answered, to the SNMP users.' }),
  community: line(255, 'Community of version 2c; secret.'),
  location: line(255, 'Where the appliance stands (sysLocation).'),
  contact: line(255, 'Who looks after it (sysContact).'),
  serviceIpId: Type.String({ maxLength: 64, description: 'Static or floating IP that the agent listens on.' }),
  port: Port,
  engineId: Type.String({
    pattern: '^[0-9a-f]{10,64}$',
    description: 'SNMP engine, hexadecimal: keys of users are made for this one and do not work with another.',
  }),
})
export type SnmpSettings = Static<typeof SnmpSettings>

export const AUTH_ALGORITHMS = ['md5', 'sha', 'sha224', 'sha256', 'sha384', 'sha512'] as const
export const PRIVACY_ALGORITHMS = ['des', 'aes', 'aes192', 'aes256'] as const

/** A user of SNMP version 3. Its passphrases are kept only as keys that were made for the engine. */
export const SnmpUser = closed({
  id: Id,
  username: Type.String({ pattern: '^[A-Za-z0-9._@-]{1,32}$', description: 'Security name, 1 to 32 characters.' }),
  writeAccess: Type.Boolean({ description: 'Whether the user may set what the agent lets be set.' }),
  authAlgorithm: Type.Enum([...AUTH_ALGORITHMS], { description: 'Hash of authentication.' }),
  privacyAlgorithm: Type.Enum([...PRIVACY_ALGORITHMS], { description: 'Cipher of privacy.' }),
  authKey: Type.String({ pattern: '^[0-9a-f]*$', maxLength: 128, description: 'Localised key, hexadecimal; secret.' }),
  privacyKey: Type.String({
    pattern: '^[0-9a-f]*$',
    maxLength: 128,
    description: 'Localised key, hexadecimal; secret.',
  }),
})
export type SnmpUser = Static<typeof SnmpUser>
