import type { Clock } from '../base/clock.ts'
import type { Members } from './members.ts'
import type { EventData } from '../model/job.ts'

/** A node's answer to a request for its time. */
export interface ClockTold {
  /** Milliseconds since 1970-01-01 UTC. */
  readonly now_ms: number
}

export interface ClockWatchParts {
  /** Id of this node. */
  readonly self: string
  readonly members: Pick<Members, 'all'>
  /** Rejects when the node does not answer. */
  readonly ask: (nodeId: string) => Promise<ClockTold>
  readonly tell: (data: EventData<'cluster'>) => void
  readonly clock: Pick<Clock, 'now_ms' | 'monotonic_ms'>
}

/** Order and leases do not depend on clocks; certificates, deadlines, histories and logs do. */
const APART_MS = 5_000

/**
 * Reports when the clock of another node differs by more than five seconds from this node's, and when it no longer
 * does.
 */
export class ClockWatch {
  readonly #parts: ClockWatchParts
  /** Ids of the nodes that were reported. */
  readonly #apart = new Set<string>()

  constructor(parts: ClockWatchParts) {
    this.#parts = parts
  }

  async look(): Promise<void> {
    const { self, members } = this.#parts
    const others = members.all().filter(({ id }) => id !== self)
    for (const id of this.#apart) if (others.every((other) => other.id !== id)) this.#apart.delete(id)
    await Promise.all(others.map(({ id, name }) => this.#lookAt(id, name)))
  }

  async #lookAt(nodeId: string, name: string): Promise<void> {
    const { ask, clock, tell } = this.#parts
    const asked_ms = clock.monotonic_ms()
    // A node that does not answer is reported elsewhere.
    const told = await ask(nodeId).catch(() => undefined)
    if (told === undefined) return
    // The node read its clock at some moment in between.
    const doubt_ms = (clock.monotonic_ms() - asked_ms) / 2
    const ahead_ms = told.now_ms - (clock.now_ms() - doubt_ms)
    const [atLeast_ms, atMost_ms] = [Math.abs(ahead_ms) - doubt_ms, Math.abs(ahead_ms) + doubt_ms]
    const wasApart = this.#apart.has(nodeId)
    if (!wasApart && atLeast_ms > APART_MS) {
      this.#apart.add(nodeId)
      const way = ahead_ms > 0 ? 'ahead of' : 'behind'
      const reason = `Its clock is ${Math.round(Math.abs(ahead_ms) / 1000)} s ${way} that of this node; check NTP on both`
      tell({ state: 'clock apart', nodeId, name, reason })
    } else if (wasApart && atMost_ms <= APART_MS) {
      this.#apart.delete(nodeId)
      tell({ state: 'clock right', nodeId, name })
    }
  }
}
