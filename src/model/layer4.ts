import { isIP } from 'node:net'
import { Type, type Static } from 'typebox'
import { closed, FallbackServer, Id, Ip, Name, Port, Weight, refersTo, idOf, Owner } from './fields.ts'
import { HealthCheckSetting } from './health-check.ts'
import { Ports } from './ports.ts'

/** A Layer 4 frontend as stored: an address and ports that the kernel (IPVS) balances. */
export const L4Frontend = closed({
  id: Id,
  name: Name,
  ip: Ip,
  ports: Ports,
  protocol: Type.Enum(['tcp', 'udp'], { description: 'Protocol to balance.' }),
  forwarding: Type.Enum(['gate', 'masq', 'ipip'], {
    description:
      'How packets reach a real server: gate (direct return, same segment), masq (address translation), ipip (tunnel).',
  }),
  backendId: refersTo(idOf('Layer 4 backend that receives the traffic.'), 'l4Backends'),
  enabled: Type.Boolean({ description: 'A disabled frontend stays configured and serves nothing.' }),
  owner: Owner,
})
export type L4Frontend = Static<typeof L4Frontend>

/** Schedulers of Linux's IPVS, by the names of the kernel. */
export const SCHEDULERS = [
  'wlc',
  'wrr',
  'lc',
  'rr',
  'sh',
  'mh',
  'dh',
  'sed',
  'nq',
  'fo',
  'ovf',
  'lblc',
  'lblcr',
  'twos',
] as const

/** 255.255.255.0, ones before zeros. */
function isDottedMask(text: string): boolean {
  if (isIP(text) !== 4) return false
  const bits = text.split('.').reduce((all, part) => all + Number(part).toString(2).padStart(8, '0'), '')
  return /^1+0*$/.test(bits)
}

const PersistMask = Type.Refine(
  Type.String({
    maxLength: 15,
    description:
      'Clients whose addresses are equal under this mask count as one: an IPv4 mask such as 255.255.255.0, or a prefix length of 1 to 128. Default: each address is a client of its own.',
  }),
  (text) => isDottedMask(text) || (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= 128),
  () => 'must be an IPv4 mask such as 255.255.255.0, or a prefix length from 1 to 128',
)

/** Membership of a real server in a backend. Omitted values come from the real server. */
export const L4Real = closed({
  ripId: refersTo(Type.String({ minLength: 1, maxLength: 64, description: 'Id of the real server.' }), 'realServers'),
  weight: Type.Optional(Weight),
  port: Type.Optional(Port),
})
export type L4Real = Static<typeof L4Real>

/** A Layer 4 backend as stored: a group of real servers. */
export const L4Backend = closed({
  id: Id,
  name: Name,
  scheduler: Type.Enum([...SCHEDULERS], { description: 'Algorithm by which the kernel chooses a real server.' }),
  persistTimeout: Type.Integer({
    minimum: 0,
    maximum: 2_678_400,
    description:
      'How long a client stays with its real server after its last connection. Seconds, 0 (not at all) to 31 days.',
  }),
  persistMask: Type.Union([PersistMask, Type.Null()], {
    description: 'Mask under which clients count as one; null: each address is a client of its own.',
  }),
  reals: Type.Array(L4Real, { maxItems: 20_000, description: 'The real servers.' }),
  healthCheck: HealthCheckSetting,
  fallback: Type.Union([FallbackServer, Type.Null()], {
    description: 'Server that answers while no real server is up, if the backend has any; null for none.',
  }),
  owner: Owner,
})
export type L4Backend = Static<typeof L4Backend>
