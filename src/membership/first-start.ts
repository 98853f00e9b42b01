import type { Log } from '../base/log.ts'
import type { EtcdClient } from '../etcd/client.ts'
import type { Member as EtcdMember } from '../etcd/members.ts'
import type { ClusterFiles } from './cluster-files.ts'
import type { EtcdService } from './etcd-service.ts'
import { type NodeAddress, peerUrl } from './node-address.ts'
import type { Waiting } from './patience.ts'

export interface FirstStartParts extends Waiting {
  readonly own: NodeAddress
  readonly etcd: { readonly members: Pick<EtcdClient['members'], 'list'> }
  readonly files: Pick<ClusterFiles, 'wipeEtcd'>
  readonly service: Pick<EtcdService, 'start' | 'stop'>
  readonly log: Log
}

/** Of a member that is started for the first time; twice as long each time, as there may be much that it has to read. */
const PATIENCE_MS = 10_000
/** What it has said before it was stopped is there by then. */
const SAID_MS = 1_000

/**
 * A new member of etcd takes its id from what another one lists. One that was started itself a moment ago lists who was
 * there earlier, as it goes through its log; so whoever joins where a node has just left may take that one's id, and
 * nobody talks to it. It can be told by the list: it has no name there. Without a name it has no vote, and nothing
 * that anybody counts on, so it begins anew.
 */
export class FirstStart {
  readonly #parts: FirstStartParts
  #since_ms: number | undefined
  #patience_ms = PATIENCE_MS

  constructor(parts: FirstStartParts) {
    this.#parts = parts
  }

  /** `listed`: as a majority knows them. */
  async look(listed: readonly EtcdMember[]): Promise<void> {
    const now_ms = this.#parts.clock.monotonic_ms()
    if (!this.#isUnnamed(listed)) this.#since_ms = undefined
    else if (now_ms - (this.#since_ms ??= now_ms) >= this.#patience_ms) await this.#beginAnew()
  }

  #isUnnamed(listed: readonly EtcdMember[]): boolean {
    const url = peerUrl(this.#parts.own)
    return listed.some(({ name, isLearner, peerUrls }) => name === '' && isLearner && peerUrls.includes(url))
  }

  async #beginAnew(): Promise<void> {
    const { service, etcd, files, log, wait } = this.#parts
    this.#since_ms = undefined
    this.#patience_ms *= 2
    await service.stop()
    await wait(SAID_MS)
    try {
      if (!this.#isUnnamed(await etcd.members.list())) return
      log.warn('the member of etcd of this node does not come up, and begins anew')
      await files.wipeEtcd()
    } finally {
      await service.start()
    }
  }
}
