import type { Entry } from '../../storage/config/entry.ts'
import type { Clock } from '../base/clock.ts'
import { KeptAnswer } from '../base/kept-answer.ts'
import { noQuorum } from '../cluster/refusals.ts'
import type { EtcdClient } from '../etcd/client.ts'

export interface QuorumParts {
  readonly etcd: { readonly members: Pick<EtcdClient['members'], 'list'> }
  readonly clock: Pick<Clock, 'monotonic_ms'>
}

/** An election is over by then, and the start of an etcd as a rule. */
const LOST_MS = 5_000
const PROBE_MS = 500

/** Whether a majority of the members of etcd answers this node. */
export class Quorum {
  readonly #parts: QuorumParts
  /** However many changes ask. */
  readonly #isBack: KeptAnswer<boolean>
  /** Undefined while it is there. */
  #lost_ms: number | undefined

  constructor(parts: QuorumParts) {
    this.#parts = parts
    const { etcd, clock } = parts
    const ask = () =>
      etcd.members.list({ timeout_ms: PROBE_MS }).then(
        () => true,
        () => false,
      )
    this.#isBack = new KeptAnswer({ ask, kept_ms: PROBE_MS, clock })
  }

  get isThere(): boolean {
    return this.#lost_ms === undefined
  }

  /** What the last look has found. */
  note(isThere: boolean): void {
    this.#lost_ms = isThere ? undefined : (this.#lost_ms ?? this.#parts.clock.monotonic_ms())
  }

  /**
   * A change waits for an election that may go on. Where there has been no quorum for longer, nobody waits in vain: one
   * quick question tells whether it is back since the last look. A takeover makes one.
   *
   * @throws {ApiError} NO_QUORUM: nothing was changed.
   */
  async assert({ op }: Entry): Promise<void> {
    const { clock } = this.#parts
    if (this.#lost_ms === undefined || clock.monotonic_ms() - this.#lost_ms < LOST_MS || op === 'takeover') return
    if (!(await this.#isBack.get())) throw noQuorum(false)
  }
}
