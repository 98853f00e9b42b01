import type { Entry } from '../../storage/config/entry.ts'
import type { Clock } from '../base/clock.ts'
import { KeptAnswer } from '../base/kept-answer.ts'
import { noQuorum } from '../cluster/refusals.ts'
import type { EtcdClient } from '../etcd/client.ts'

export interface QuorumParts {
  readonly etcd: { readonly members: Pick<EtcdClient['members'], 'list'> }
  readonly clock: Pick<Clock, 'monotonic_ms'>
}

/** By then an election is over, and usually the start of an etcd. */
const LOST_MS = 5_000
const PROBE_MS = 500

/** Whether a majority of the etcd members answers this node. */
export class Quorum {
  readonly #parts: QuorumParts
  /** One probe for all waiting changes. */
  readonly #isBack: KeptAnswer<boolean>
  /** Time of the loss; undefined while there is a quorum. */
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

  /** Records the result of the last look. */
  note(isThere: boolean): void {
    this.#lost_ms = isThere ? undefined : (this.#lost_ms ?? this.#parts.clock.monotonic_ms())
  }

  /**
   * Lets a change wait for an election that may be in progress. If the quorum was lost earlier, it does not wait in
   * vain: one quick probe tests whether the quorum is back since the last look. A takeover makes a quorum.
   *
   * @throws {ApiError} NO_QUORUM: nothing was changed.
   */
  async assert({ op }: Entry): Promise<void> {
    const { clock } = this.#parts
    if (this.#lost_ms === undefined || clock.monotonic_ms() - this.#lost_ms < LOST_MS || op === 'takeover') return
    if (!(await this.#isBack.get())) throw noQuorum(false)
  }
}
