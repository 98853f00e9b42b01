import { setTimeout as sleep } from 'node:timers/promises'
import type { EtcdClient } from '../../../src/etcd/client.ts'
import { type EtcdCluster, type EtcdMember, unlessRefused } from '../../fixtures/etcd.ts'
import type { Collector } from './collector.ts'
import type { NodeProcess } from './node-process.ts'

/** Strikes nodes and members with one fault after another, and counts each kind. */
export class Faults {
  readonly counts = new Map<string, number>()
  readonly #random: () => number
  readonly #isOver: () => boolean

  constructor(random: () => number, isOver: () => boolean) {
    this.#random = random
    this.#isOver = isOver
  }

  get total(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0)
  }

  /** Nodes are killed, suspended or ended, and come back with the same folder. */
  async ofNodes(nodes: readonly NodeProcess[]): Promise<void> {
    while (!this.#isOver()) {
      await this.#while(300, 1_500)
      const node = this.#one(nodes)
      const kind = this.#one(['kill', 'pause', 'end'] as const)
      this.#note(`${kind} a node`)
      if (kind === 'pause') {
        await node.pause()
        await this.#while(200, 4_000)
        node.resume()
        continue
      }
      await node[kind]()
      await this.#while(0, 2_000)
      await node.start()
    }
  }

  /** One member, or two at once: then no writes succeed. */
  async ofMembers(cluster: EtcdCluster): Promise<void> {
    while (!this.#isOver()) {
      await this.#while(500, 2_000)
      const first = this.#one(cluster.members)
      const second = this.#one(cluster.members)
      const some = this.#random() < 0.25 && second !== first ? [first, second] : [first]
      const mend: (() => Promise<void>)[] = []
      for (const member of some) mend.push(await this.#strike(member))
      await this.#while(300, 3_000)
      await Promise.all(mend.map((one) => one()))
      // Faults of members would add up to a cluster that never writes.
      for (const member of some) await cluster.healthy(member)
    }
  }

  /** etcd compacts its history: a follower that was away is refused the part that it missed. */
  async ofHistory(etcd: EtcdClient, collector: Collector): Promise<void> {
    while (!this.#isOver()) {
      await this.#while(2_000, 4_000)
      if (collector.revision === 0) continue
      const compacted = await unlessRefused(etcd.compact(collector.revision, { timeout_ms: 2_000 }).then(() => true))
      if (compacted === true) this.#note('compact etcd')
    }
  }

  /**
   * Returns a function that ends the fault. A member that is to end waits for a suspended one, so this does not wait.
   */
  async #strike(member: EtcdMember): Promise<() => Promise<void>> {
    const kind = this.#one(['kill', 'pause', 'stop'] as const)
    this.#note(`${kind} a member`)
    if (kind === 'pause') {
      await member.pause()
      return async () => member.resume()
    }
    const ended = member[kind]()
    return async () => {
      await ended
      await member.start()
    }
  }

  #note(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }

  #one<T>(some: readonly T[]): T {
    const one = some[Math.floor(this.#random() * some.length)]
    if (one === undefined) throw new Error('none to choose from')
    return one
  }

  async #while(least_ms: number, most_ms: number): Promise<void> {
    await sleep(least_ms + this.#random() * (most_ms - least_ms))
  }
}
