import { isHostName } from '../base/host-name.ts'
import { parseNetwork } from '../base/ip-network.ts'

/** What is fetched without the proxy, as sent: a host or bare domain, a .suffix, an address, a network in CIDR form. */
export type BypassKind = 'domain' | 'suffix' | 'address' | 'network'

/** What an entry of a bypass list is; undefined for what it may not be, such as one with a port or a wildcard. */
export function bypassKind(entry: string): BypassKind | undefined {
  if (isHostName(entry)) return 'domain'
  if (entry.startsWith('.') && isHostName(entry.slice(1))) return 'suffix'
  if (parseNetwork(entry) === undefined) return undefined
  return entry.includes('/') ? 'network' : 'address'
}

/** Why an entry that is of no kind is refused. */
export function bypassProblem(entry: string): string {
  if (entry.includes('*')) return 'has a wildcard; a domain matches its subdomains without one'
  if (/^(\[[^\]]*\]|[^:]*):\d*$/.test(entry)) return 'has a port'
  return 'is no host name, domain, .suffix, IP address or CIDR range'
}
