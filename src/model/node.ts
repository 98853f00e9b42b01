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
  description: 'Connections the node tracks at most (nf_conntrack_max), 1,024 to 2,147,483,647.',
})

export const Timeout = (description: string) =>
  Type.String({
    maxLength: 16,
    description: `${description} Whole seconds, or a number with one of the units s, m, h, d, w; 1s to 31d. Kept as sent.`,
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
  enable: Type.Boolean({ description: 'Whether what the appliance fetches goes through the proxy.' }),
  address: Type.Union([closed({ value: Type.String({ maxLength: 253 }), port: Port }), Type.Null()], {
    description: 'Where the proxy listens; null when there is none.',
  }),
  username: Type.String({ maxLength: 255, pattern: NO_CONTROL, description: 'User at the proxy; empty for none.' }),
  password: Type.String({ maxLength: 255, pattern: NO_CONTROL, description: 'Password at the proxy; secret.' }),
  bypass: Type.Array(Type.String({ maxLength: 253, description: 'Host, domain, .suffix, address or CIDR.' }), {
    maxItems: 256,
    description: 'What is fetched without the proxy.',
  }),
})
export type SystemProxy = Static<typeof SystemProxy>

export const UserInterface = closed({
  id: Id,
  apiPort: Port,
  ipId: refersTo(
    Type.String({ maxLength: 64, description: 'Static IP the API listens on; empty for every address.' }),
    'staticIps',
  ),
  SSLCertificate: refersTo(
    Type.String({ maxLength: 64, description: 'Certificate the API shows; empty for its own.' }),
    'certificates',
  ),
  sshEnabled: Type.Optional(Type.Boolean({ description: 'Whether sshd runs; absent leaves it as it was found.' })),
  sshPort: Type.Optional({ ...Port, description: 'TCP port of sshd; absent leaves its ports as they were found.' }),
})
export type UserInterface = Static<typeof UserInterface>

export const ClockSettings = closed({
  id: Id,
  timezone: Type.String({ maxLength: 64, description: 'Region/City of tzdata; empty leaves it as it was found.' }),
  ntp: Type.Union(
    [
      closed({
        enabled: Type.Boolean({ description: 'Whether chrony keeps the clock.' }),
        servers: Type.Array(Type.String({ maxLength: 253, description: 'Host name or address.' }), {
          maxItems: 32,
          description: 'NTP servers.',
        }),
      }),
      Type.Null(),
    ],
    { description: 'null leaves NTP as it was found.' },
  ),
})
export type ClockSettings = Static<typeof ClockSettings>
