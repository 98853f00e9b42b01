import { isIP } from 'node:net'
import { Type, type Static } from 'typebox'
import { closed, Id, Name, Port, Weight, Owner } from './fields.ts'
import { isHostName } from './health-check.ts'

export const RealServerState = Type.Enum(['online', 'drained', 'halted'], {
  description:
    'online receives traffic; drained keeps its connections and gets no new clients, but on Layer 7 clients bound to it by a persistence cookie or a stick-table entry still come back; halted is removed from every backend.',
})

/** Read only: whether its health checks pass. */
export const Health = Type.Enum(['up', 'down', 'checking', 'unknown'], {
  description:
    'Result of the health checks of its backends; unknown without a check, in maintenance, or before the first result.',
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
      'IPv4 or IPv6 address, or, for Layer 7 only, a host name of letters, digits, hyphens and dots, without a dot at the end. A name such as _http._tcp.example.org refers to SRV records: real servers with the same name share the records, one each.',
  }),
  // A zone such as %eth0 is meaningful on one machine only.
  (value) => (isIP(value) === 0 ? isServerName(value) : !value.includes('%')),
  () => 'must be an IPv4 or IPv6 address, a host name, or a name of SRV records such as _http._tcp.example.org',
)

export const Resolve = Type.Enum(['start', 'live'], {
  description:
    'When HAProxy resolves a host name in ip: live, continuously, so that the address follows DNS without a reload; start, once when HAProxy starts, with the resolver of the system (including /etc/hosts and search domains). Default live.',
})

/** A real server as stored: one machine and port that Layer 4 and Layer 7 backends share. */
export const RealServer = closed({
  id: Id,
  name: Name,
  ip: ServerHost,
  resolve: Type.Optional(Resolve),
  port: Type.Union([Port, Type.Null()], {
    description: 'Traffic port, 1 to 65535; null means the port that the client used, or that of the SRV record.',
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
