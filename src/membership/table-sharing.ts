import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Clock, MachineClock } from '../base/clock.ts'
import { type NamedKey, newNamedKey } from '../cluster/authority.ts'
import type { Sharing } from '../drivers/haproxy/sharing.ts'
import type { ClusterFiles, OwnMembership } from './cluster-files.ts'
import type { Member, Members } from './members.ts'
import { haproxyPort, hostToListenAt } from './node-address.ts'

/**
 * HAProxies of nodes share their stick tables with keys that serve this alone: somebody who reads the files of one can
 * ask neither etcd nor another node. Their certificates are in the log, and each member's certificate is trusted by
 * itself, so a node that is removed is refused as soon as the others have read about it.
 */

/** Tells the others what the HAProxy beside this node shows them, and makes it where there is none. */
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

/** A name that cannot be resolved takes its time. */
const LOOKED_UP_EVERY_MS = 60_000
const PORT_MAX = 65_535

export interface TableSharingParts {
  /** Undefined on a node that is in no cluster. */
  readonly own: () => OwnMembership | undefined
  readonly files: Pick<ClusterFiles, 'haproxy'>
  readonly members: Pick<Members, 'all' | 'get'>
  readonly clock: Pick<Clock, 'monotonic_ms'>
  /** All addresses; none of a name that nobody knows just now. */
  readonly lookUp?: (host: string) => Promise<readonly string[]>
}

/** The nodes that this node shares stick tables with, according to its files and the log. */
export class TableSharing {
  readonly #parts: TableSharingParts
  #shown: NamedKey | undefined
  /** Addresses of those that are reached by a name: HAProxy would refuse a file with a name that nobody knows. */
  readonly #known = new Map<string, { readonly ip: string | undefined; readonly at_ms: number }>()

  constructor(parts: TableSharingParts) {
    this.#parts = parts
  }

  /** Undefined on a node that is in no cluster, or has not told the others what it shows. */
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
    // It is where it was also where nobody knows it just now: resolvers turn lists around, and each change is a reload.
    const isThere = known?.ip !== undefined && (found.length === 0 || found.includes(known.ip))
    const ip = isThere ? known.ip : found[0]
    this.#known.set(host, { ip, at_ms: now_ms })
    return ip
  }
}

type SharingMember = Member & { readonly haproxy: string }

/** A node of an earlier version has told nothing, and may have left no port for it. */
const isSharing = (member: Member): member is SharingMember =>
  member.haproxy !== undefined && haproxyPort(member) <= PORT_MAX

/** Nodes that are reached by a name listen at IPv4. */
async function addressesOf(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { family: 4, all: true }).catch(() => [])
  return found.map(({ address }) => address)
}
