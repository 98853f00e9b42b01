import { Type, type Static } from 'typebox'
import { closed, Id, Port, refersTo } from './fields.ts'

/**
 * Settings of one node, except for its network. A record's id is the id of its node; without a record the machine is
 * left as found.
 */

/** An identity other than the one the node was born with, which is the id of the record: assumed by a full restore. */
export const NodeIdentity = closed({ id: Id, nodeId: Id })
export type NodeIdentity = Static<typeof NodeIdentity>

export const ConntrackSize = Type.Integer({
  minimum: 1024,
  maximum: 2_147_483_647,
  description: 'Maximum number of tracked connections of the node (nf_conntrack_max), 1,024 to 2,147,483,647.',
})

export const Timeout = (description: string) =>
  Type.String({
    maxLength: 16,
    description: `${description} Whole seconds, or a number with one of the units s, m, h, d, w; 1s to 31d. Stored as sent.`,
  })

export const ConntrackLimit = closed({ id: Id, size: ConntrackSize })
export type ConntrackLimit = Static<typeof ConntrackLimit>

/** Id of the one record of settings that every node shares. */
export const SHARED = 'cluster'

export const ConntrackTimeouts = closed({
  id: Id,
  tcpTimeout: Timeout('Idle time after which an established TCP connection is forgotten.'),
  tcpFinTimeout: Timeout('Idle time after which a closing TCP connection is forgotten.'),
  udpTimeout: Timeout('Idle time after which a UDP flow is forgotten.'),
})
export type ConntrackTimeouts = Static<typeof ConntrackTimeouts>

const NO_CONTROL = '^[^\\u0000-\\u001f\\u007f]*$'

export const SystemProxy = closed({
  id: Id,
  enable: Type.Boolean({ description: 'Whether the appliance uses the proxy for its downloads.' }),
  address: Type.Union([closed({ value: Type.String({ maxLength: 253 }), port: Port }), Type.Null()], {
    description: 'Address of the proxy; null if there is none.',
  }),
  username: Type.String({
    maxLength: 255,
    pattern: NO_CONTROL,
    description: 'User name at the proxy; empty for none.',
  }),
  password: Type.String({ maxLength: 255, pattern: NO_CONTROL, description: 'Password at the proxy; secret.' }),
  bypass: Type.Array(Type.String({ maxLength: 253, description: 'Host, domain, .suffix, address or CIDR.' }), {
    maxItems: 256,
    description: 'Destinations that bypass the proxy.',
  }),
})
export type SystemProxy = Static<typeof SystemProxy>

export const UserInterface = closed({
  id: Id,
  apiPort: Port,
  ipId: refersTo(
    Type.String({ maxLength: 64, description: 'Static IP that the API listens on; empty for all addresses.' }),
    'staticIps',
  ),
  SSLCertificate: refersTo(
    Type.String({ maxLength: 64, description: 'Certificate of the API; empty for its own self-signed one.' }),
    'certificates',
  ),
  sshEnabled: Type.Optional(Type.Boolean({ description: 'Whether sshd runs; if absent, sshd stays as it was found.' })),
  sshPort: Type.Optional({ ...Port, description: 'TCP port of sshd; if absent, its ports stay as they were found.' }),
})
export type UserInterface = Static<typeof UserInterface>

export const ClockSettings = closed({
  id: Id,
  timezone: Type.String({
    maxLength: 64,
    description: 'Time zone as Region/City of tzdata; if empty, the zone stays as it was found.',
  }),
  ntp: Type.Union(
    [
      closed({
        enabled: Type.Boolean({ description: 'Whether chrony controls the clock.' }),
        servers: Type.Array(Type.String({ maxLength: 253, description: 'Host name or address.' }), {
          maxItems: 32,
          description: 'NTP servers.',
        }),
      }),
      Type.Null(),
    ],
    { description: 'NTP settings; null leaves NTP as it was found.' },
  ),
})
export type ClockSettings = Static<typeof ClockSettings>
