import { FRONTEND_ROW, STORED_COUNT, type StatRows } from '../../src/drivers/haproxy/stats-csv.ts'
import type { ProcessCounters } from '../../storage/archive/increments.ts'
import { COUNTER_COUNT } from '../../storage/archive/tiers.ts'
import type { ProcessStats } from './process-answer.ts'

/**
 * Where the counters of a new process began. `zero`: it counted everything itself. `copied`: it loaded a file dumped by
 * another process (`stats-file`, HAProxy 3.0). `shared`: it counts in memory shared by the processes (`shm-stats-file`,
 * 3.3).
 */
export type CounterOrigin = 'zero' | 'copied' | 'shared'

/** Index of stot among the values of a row. */
const SESSIONS = 1

/**
 * A process that counted everything itself has accepted at least as many connections as its frontends have sessions.
 * HAProxy keeps the number of accepted connections per process and never loads it, so any excess of sessions was
 * counted elsewhere.
 */
export function counterOrigin({ intake }: ProcessStats, rows: StatRows): CounterOrigin {
  if (intake === undefined) return 'zero'
  let sessions = 0
  for (let row = 0; row < rows.count; row++) {
    const count = rows.kinds[row] === FRONTEND_ROW ? (rows.values[row * STORED_COUNT + SESSIONS] ?? 0) : 0
    if (count > 0) sessions += count
  }
  if (sessions <= intake.accepted) return 'zero'
  return intake.mayShare ? 'shared' : 'copied'
}

/**
 * The increments that a process which began with its predecessor's counters has certainly counted itself. Shared
 * memory: all growth since the predecessor's last poll, by either process. A copy: the dump lies between two polls of
 * the predecessor, whose own growth comes from its own polls. Subtracting the predecessor's latest figure never
 * subtracts too little, and too much only by what it counted between the dump and that poll.
 */
export class InheritedCounters {
  readonly #predecessor: ProcessCounters | undefined
  readonly #isCopy: boolean
  /** Counters at the poll before the new process was seen. */
  readonly #before: Float64Array

  constructor(predecessor: ProcessCounters | undefined, slots: number, origin: Exclude<CounterOrigin, 'zero'>) {
    this.#predecessor = predecessor
    this.#isCopy = origin === 'copied'
    this.#before = new Float64Array(slots * COUNTER_COUNT).fill(Number.NaN)
    if (predecessor === undefined) return
    for (let slot = 0; slot < slots; slot++) {
      for (let counter = 0; counter < COUNTER_COUNT; counter++)
        this.#before[slot * COUNTER_COUNT + counter] = predecessor.valueNow(slot, counter)
    }
  }

  /** NaN where the figure cannot have been inherited: an older dump, or an object that is in no dump. */
  increment(slot: number, counter: number, value: number): number {
    const before = this.#before[slot * COUNTER_COUNT + counter] ?? Number.NaN
    if (!(value >= before)) return Number.NaN
    const now = this.#isCopy ? (this.#predecessor?.valueOf(slot, counter) ?? before) : before
    return Math.max(0, value - Math.max(before, now))
  }
}
