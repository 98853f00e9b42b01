import { isIP } from 'node:net'
import { isHost } from '../base/host-name.ts'
import { canonicalIp } from '../base/ip-network.ts'
import { parseJoinAddress } from '../cluster/join-token.ts'

/** Where a node of a cluster is reached by the others. */
export interface NodeAddress {
  /** An IPv4 or IPv6 address without brackets, or a host name. */
  readonly host: string
  /** Where nodes ask each other. Of the ports above it, clients of etcd use the first, its members the second. */
  readonly port: number
}

/** However they are written. */
export const isSamePlace = (some: NodeAddress, other: NodeAddress): boolean =>
  some.port === other.port && canonicalIp(some.host).toLowerCase() === canonicalIp(other.host).toLowerCase()

/** Where HAProxies share their stick tables: behind the two ports of etcd. */
export const haproxyPort = ({ port }: Pick<NodeAddress, 'port'>): number => port + 3

export const hostInUrl = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host)
export const clientUrl = ({ host, port }: NodeAddress): string => `https://${hostInUrl(host)}:${port + 1}`
export const peerUrl = ({ host, port }: NodeAddress): string => `https://${hostInUrl(host)}:${port + 2}`

/** etcd listens at addresses, not at names: a node that is reached by a name listens at all of them. */
export const hostToListenAt = ({ host }: Pick<NodeAddress, 'host'>): string => (isIP(host) === 0 ? '0.0.0.0' : host)

/**
 * What a certificate of the node has to name: where it is reached, and where its connections come from, which etcd
 * compares. On loopback that is always the first address.
 */
export const certifiedAddresses = ({ host }: NodeAddress): readonly string[] =>
  host.startsWith('127.') && host !== '127.0.0.1' ? [host, '127.0.0.1'] : [host]

/** Three more ports belong to etcd and HAProxy. */
const PORT_MAX = 65_532

/** HOST:PORT or [HOST]:PORT, or a host alone, whose port is then this one. */
export function parseAddress(text: string, port: number): NodeAddress | undefined {
  const address = parseJoinAddress(text) ?? (isHost(text) ? { host: text, port } : undefined)
  return address !== undefined && address.port > 0 && address.port <= PORT_MAX ? address : undefined
}
