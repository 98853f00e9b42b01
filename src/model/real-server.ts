import { isIP } from 'node:net'
import { Type, type Static } from 'typebox'
import { closed, Id, Name, Port, Weight, Owner } from './fields.ts'
import { isHostName } from './health-check.ts'

export const RealServerState = Type.Enum(['online', 'drained', 'halted'], {
  description:
    'online takes traffic; drained keeps its connections and gets no new clients, but on Layer 7 those that a persistence cookie or a stick-table entry binds to it still come back to it; halted is taken out of every backend.',
})

/** Read only: whether its health checks pass. */
export const Health = Type.Enum(['up', 'down', 'checking', 'unknown'], {
  description:
    'What the health checks of its backends say; unknown without a check, in maintenance, or before the first.',
})
export type Health = Static<typeof Health>

/**
 * The C library reads `10.1` as an address, and `web.0x1` or `web.1` as a mistyped one: no domain ends with a number.
 */
const endsWithNumber = (text: string): boolean => /^(\d+|0x[\da-f]*)$/i.test(text.slice(text.lastIndexOf('.') + 1))

const SERVICE = /^_[a-z0-9]([a-z0-9-]{0,60}[a-z0-9])?\._[a-z]{1,62}\./i

/** Returns whether the address is the name of SRV records (RFC 2782), whose answers contain host and port. */
export function isService(ip: string): boolean {
  const [prefix] = SERVICE.exec(ip) ?? []
  return prefix !== undefined && isHostName(ip.slice(prefix.length)) && !endsWithNumber(ip)
}

const isServerName = (text: string): boolean => isService(text) || (isHostName(text) && !endsWithNumber(text))

export const ServerHost = Type.Refine(
  Type.String({
    maxLength: 253,
    description:
      'IPv4 or IPv6 address, or, for Layer 7 only, a host name of letters, digits, hyphens and dots, without a dot at the end. A name such as _http._tcp.example.org is that of SRV records: real servers with the same one share its answers, one each.',
  }),
  // A zone such as %eth0 is meaningful on one machine only.
  (value) => (isIP(value) === 0 ? isServerName(value) : !value.includes('%')),
  () => 'must be an IPv4 or IPv6 address, a host name, or a name of SRV records such as _http._tcp.example.org',
)

export const Resolve = Type.Enum(['start', 'live'], {
  description:
    'When HAProxy resolves a host name in ip: live, again and again, so that its address follows the answers without a reload; start, once when HAProxy starts, by the resolver of the system (/etc/hosts and search domains included). live where it is left out.',
})

/** A real server as stored: one machine and port that Layer 4 and Layer 7 backends share. */
export const RealServer = closed({
  id: Id,
  name: Name,
  ip: ServerHost,
  resolve: Type.Optional(Resolve),
  port: Type.Union([Port, Type.Null()], {
    description: 'Traffic port, 1 to 65535; null means the port the client used, or that of the SRV record.',
  }),
  weight: Weight,
  state: RealServerState,
  owner: Owner,
})
export type RealServer = Static<typeof RealServer>

/** The fields that determine where a real server is. */
export interface ResolvedName {
  readonly ip: string
  readonly resolve?: RealServer['resolve'] | undefined
}

/** When the host name of a real server is resolved; undefined for one with an address. */
export function resolvedAt({ ip, resolve = 'live' }: ResolvedName): 'start' | 'live' | undefined {
  if (isIP(ip) !== 0) return undefined
  return isService(ip) ? 'live' : resolve
}
