import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Clock, MachineClock } from '../base/clock.ts'
import { type NamedKey, newNamedKey } from '../cluster/authority.ts'
import type { Sharing } from '../drivers/haproxy/sharing.ts'
import type { ClusterFiles, OwnMembership } from './cluster-files.ts'
import type { Member, Members } from './members.ts'
import { haproxyPort, hostToListenAt } from './node-address.ts'

/**
 * HAProxys of nodes share their stick tables with keys for this purpose alone: the files of one give access to neither
 * etcd nor another node. Their certificates are in the log, and each one is trusted individually, so a removed node is
 * refused as soon as the others have read of it.
 */

/** Announces the certificate of the HAProxy beside this node, and creates it if needed. */
export async function showHaproxy(
  files: ClusterFiles,
  members: Pick<Members, 'get' | 'change'>,
  { clusterId, nodeId }: Pick<OwnMembership, 'clusterId' | 'nodeId'>,
  clock: Pick<MachineClock, 'now_ms'>,
): Promise<void> {
  if (members.get(nodeId) === undefined) return
  const made = files.haproxy ?? (await newNamedKey(clusterId, nodeId, clock.now_ms()))
  if (files.haproxy === undefined) await files.keepHaproxy(made)
  const { certificate } = made
  if (members.get(nodeId)?.haproxy === certificate) return
  await members.change(nodeId, (member) => ({ ...member, haproxy: certificate }))
}

/** Interval of look-ups, because a name that cannot be resolved takes long. */
const LOOKED_UP_EVERY_MS = 60_000
const PORT_MAX = 65_535

export interface TableSharingParts {
  /** Undefined without a cluster. */
  readonly own: () => OwnMembership | undefined
  readonly files: Pick<ClusterFiles, 'haproxy'>
  readonly members: Pick<Members, 'all' | 'get'>
  readonly clock: Pick<Clock, 'monotonic_ms'>
  /** Returns all addresses; none if the name cannot be resolved now. */
  readonly lookUp?: (host: string) => Promise<readonly string[]>
}

/** The nodes with which this node shares stick tables, according to its files and the log. */
export class TableSharing {
  readonly #parts: TableSharingParts
  #shown: NamedKey | undefined
  /** Addresses of nodes with names: HAProxy would refuse a file with a name that cannot be resolved. */
  readonly #known = new Map<string, { readonly ip: string | undefined; readonly at_ms: number }>()

  constructor(parts: TableSharingParts) {
    this.#parts = parts
  }

  /** Undefined without a cluster, or before this node has announced its certificate. */
  async now(): Promise<Sharing | undefined> {
    const own = this.#parts.own()
    if (own === undefined) return undefined
    this.#shown ??= this.#parts.files.haproxy
    const sharing = this.#parts.members.all().filter(isSharing)
    const self = sharing.find(({ id }) => id === own.nodeId)
    if (this.#shown === undefined || self?.haproxy !== this.#shown.certificate) return undefined
    const others: Sharing['others'][number][] = []
    for (const { id, host, ...place } of sharing) {
      const ip = id === own.nodeId ? undefined : await this.#ipOf(host)
      if (ip !== undefined) others.push({ id, ip, port: haproxyPort(place) })
    }
    return {
      self: own.nodeId,
      ip: hostToListenAt(own),
      port: haproxyPort(own),
      own: `${this.#shown.certificate}${this.#shown.key}`,
      named: sharing.map(({ haproxy }) => haproxy).join(''),
      others,
    }
  }

  async #ipOf(host: string): Promise<string | undefined> {
    if (isIP(host) !== 0) return host
    const known = this.#known.get(host)
    const now_ms = this.#parts.clock.monotonic_ms()
    if (known !== undefined && now_ms - known.at_ms < LOOKED_UP_EVERY_MS) return known.ip
    const found = await (this.#parts.lookUp ?? addressesOf)(host)
    // A known address stays while it is listed, or nothing is: resolvers rotate lists, and each change is a reload.
    const isThere = known?.ip !== undefined && (found.length === 0 || found.includes(known.ip))
    const ip = isThere ? known.ip : found[0]
    this.#known.set(host, { ip, at_ms: now_ms })
    return ip
  }
}

type SharingMember = Member & { readonly haproxy: string }

/** A node of an earlier version has announced nothing, and may have left no port for sharing. */
const isSharing = (member: Member): member is SharingMember =>
  member.haproxy !== undefined && haproxyPort(member) <= PORT_MAX

/** Nodes with names listen on IPv4. */
async function addressesOf(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { family: 4, all: true }).catch(() => [])
  return found.map(({ address }) => address)
}
