import { isHostName } from '../base/host-name.ts'
import { parseNetwork } from '../base/ip-network.ts'

/**
 * Kinds of destinations that bypass the proxy: a host or bare domain, a .suffix, an address, a network in CIDR form.
 */
export type BypassKind = 'domain' | 'suffix' | 'address' | 'network'

/** Returns the kind of a bypass entry; undefined for an invalid one, such as one with a port or a wildcard. */
export function bypassKind(entry: string): BypassKind | undefined {
  if (isHostName(entry)) return 'domain'
  if (entry.startsWith('.') && isHostName(entry.slice(1))) return 'suffix'
  if (parseNetwork(entry) === undefined) return undefined
  return entry.includes('/') ? 'network' : 'address'
}

/** Returns why an entry of no kind is refused. */
export function bypassProblem(entry: string): string {
  if (entry.includes('*')) return 'has a wildcard; a domain matches its subdomains without one'
  if (/^(\[[^\]]*\]|[^:]*):\d*$/.test(entry)) return 'has a port'
  return 'is not a host name, domain, .suffix, IP address or CIDR range'
}
