import { setTimeout as sleep } from 'node:timers/promises'
import type { SharedStore } from '../../storage/config/shared-store.ts'
import type { MemberStatus } from '../etcd/maintenance.ts'
import type { Member as EtcdMember } from '../etcd/members.ts'
import { replaceAging } from './aging.ts'
import { dropUnused } from './authorities.ts'
import type { NodeCredentials } from './cluster-files.ts'
import { EtcdSpace } from './etcd-space.ts'
import { gatewaysOf } from './gateways.ts'
import type { JoinedCluster } from './joined-cluster.ts'
import { raiseLevel } from './levels.ts'
import { Lockout, type LockoutParts } from './lockout.ts'
import { settle } from './moving.ts'
import { Renewal } from './renewal.ts'
import { showHaproxy } from './table-sharing.ts'

export interface UpkeepParts extends Pick<LockoutParts, 'members' | 'files' | 'service' | 'clock' | 'log'> {
  readonly store: SharedStore
  readonly cluster: Pick<JoinedCluster, 'own' | 'etcd' | 'keys' | 'log' | 'removals' | 'witness'>
  /** Presents these credentials from the next connection on. */
  readonly present: (credentials: NodeCredentials) => void
}

/** The automatic work of a node for its cluster, done with every look. */
export class Upkeep {
  readonly #parts: UpkeepParts
  readonly #lockout: Lockout
  readonly #space: EtcdSpace
  readonly #renewal: Renewal

  constructor(parts: UpkeepParts) {
    this.#parts = parts
    const { cluster, members } = parts
    const { own, etcd, keys } = cluster
    const position = () => cluster.log.position
    this.#lockout = new Lockout({ ...parts, own, etcd, keys, position, wait: sleep })
    this.#space = new EtcdSpace({ ...parts, etcd, urls: () => gatewaysOf(members, own) })
    this.#renewal = new Renewal({ ...parts, wait: sleep })
  }

  /** Rejects if etcd does not answer; then the next look continues. */
  async look(status: MemberStatus | undefined, listed: readonly EtcdMember[]): Promise<void> {
    const { cluster, members, store, files, clock, log } = this.#parts
    const { own, etcd, keys, removals, witness } = cluster
    if (status !== undefined) await this.#space.look(status)
    await this.#renewal.look()
    await settle(cluster, members, listed)
    await this.#lockout.bring()
    if (removals.isDue) await removals.finish()
    await replaceAging({ own, etcd, keys, members, clock, log, isEldest: () => removals.isEldest })
    await witness.look(status, listed)
    await dropUnused(etcd, members)
    await raiseLevel(store, members, own.nodeId)
    await showHaproxy(files, members, own, clock)
  }
}
