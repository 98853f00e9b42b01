import { isIP } from 'node:net'
import { isHost } from '../base/host-name.ts'
import { canonicalIp } from '../base/ip-network.ts'
import { parseJoinAddress } from '../cluster/join-token.ts'

/** The address at which other nodes reach a node. */
export interface NodeAddress {
  /** An IPv4 or IPv6 address without brackets, or a host name. */
  readonly host: string
  /** Port of the peer API. etcd clients use the next port, etcd members the one after that. */
  readonly port: number
}

/** Compares addresses regardless of spelling. */
export const isSamePlace = (some: NodeAddress, other: NodeAddress): boolean =>
  some.port === other.port && canonicalIp(some.host).toLowerCase() === canonicalIp(other.host).toLowerCase()

/** Port on which HAProxys share their stick tables: after the two ports of etcd. */
export const haproxyPort = ({ port }: Pick<NodeAddress, 'port'>): number => port + 3

/** The places at which a node of a cluster listens for the others, which see it at `address`; none without one. */
export function clusterPorts(address: NodeAddress | undefined, peerApi: NodeAddress) {
  if (address === undefined) return []
  const host = hostToListenAt(address)
  return [
    { owner: 'the API for other nodes', place: peerApi },
    { owner: 'etcd', place: { host, port: address.port + 1 } },
    { owner: 'etcd', place: { host, port: address.port + 2 } },
    { owner: 'HAProxy, which shares stick tables with other nodes there', place: { host, port: haproxyPort(address) } },
  ]
}

export const hostInUrl = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host)
export const clientUrl = ({ host, port }: NodeAddress): string => `https://${hostInUrl(host)}:${port + 1}`
export const peerUrl = ({ host, port }: NodeAddress): string => `https://${hostInUrl(host)}:${port + 2}`

/**
 * Returns the address for listening. etcd listens on addresses, not on names: a node with a name listens on all of
 * them.
 */
export const hostToListenAt = ({ host }: Pick<NodeAddress, 'host'>): string => (isIP(host) === 0 ? '0.0.0.0' : host)

/**
 * Returns the addresses that a node's certificate must contain: its own, and the source of its connections, which etcd
 * compares. On loopback that is always the first address.
 */
export const certifiedAddresses = ({ host }: NodeAddress): readonly string[] =>
  host.startsWith('127.') && host !== '127.0.0.1' ? [host, '127.0.0.1'] : [host]

/** The three ports after this one belong to etcd and HAProxy. */
const PORT_MAX = 65_532

/** Parses HOST:PORT, [HOST]:PORT, or a host alone, which gets the given port. */
export function parseAddress(text: string, port: number): NodeAddress | undefined {
  const address = parseJoinAddress(text) ?? (isHost(text) ? { host: text, port } : undefined)
  return address !== undefined && address.port > 0 && address.port <= PORT_MAX ? address : undefined
}
