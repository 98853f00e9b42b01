import { COUNTER_COUNT } from './tiers.ts'

/**
 * Counter values of one HAProxy process and their growth since the previous poll. Increments, never values, are summed
 * over the processes that run side by side during a reload. 32-bit wraps are not handled: HAProxy counts in 64 bits.
 */
export class ProcessCounters {
  readonly pid: number
  /** Whether the counters began at zero after the archive's last poll: a process started since then counts in full. */
  fresh: boolean
  #values = new Float64Array(0)
  /** Number of the poll in which the slot was last seen. */
  #seen = new Uint32Array(0)
  #poll = 0

  constructor(pid: number, fresh: boolean) {
    this.pid = pid
    this.fresh = fresh
  }

  /** Begins the next poll of this process, with about this many slots. */
  beginPoll(slots: number): void {
    this.#poll++
    this.#room(slots)
  }

  #room(slots: number): void {
    if (this.#seen.length >= slots) return
    const grown = Math.max(slots, this.#seen.length * 2)
    const values = new Float64Array(grown * COUNTER_COUNT)
    values.set(this.#values)
    const seen = new Uint32Array(grown)
    seen.set(this.#seen)
    this.#values = values
    this.#seen = seen
  }

  /** Whether the slot was in the previous poll. */
  known(slot: number): boolean {
    return this.#poll > 1 && this.#seen[slot] === this.#poll - 1
  }

  /**
   * Returns the increment of one counter since the previous poll; NaN when it is unknown. Call `see` when all counters
   * are done. Same process and not smaller: the difference. Smaller: the counters were cleared, so the increment is
   * unknown and the value a new baseline. Not seen before: the object is new in a known process, or the process itself
   * is new, so it counted from zero. A counter that the object does not have (NaN) stays unknown.
   */
  increment(slot: number, counter: number, value: number): number {
    this.#room(slot + 1)
    const at = slot * COUNTER_COUNT + counter
    const before = this.known(slot) ? (this.#values[at] ?? 0) : this.#poll > 1 || this.fresh ? 0 : Number.NaN
    this.#values[at] = value
    return value >= before ? value - before : Number.NaN
  }

  see(slot: number): void {
    this.#seen[slot] = this.#poll
  }

  valueOf(slot: number, counter: number): number {
    return this.#values[slot * COUNTER_COUNT + counter] ?? Number.NaN
  }

  /** NaN when the slot was not in this poll. */
  valueNow(slot: number, counter: number): number {
    return this.#poll > 0 && this.#seen[slot] === this.#poll ? this.valueOf(slot, counter) : Number.NaN
  }

  /** Restores the counters of an earlier run of the daemon, as if they were from the previous poll. */
  restore(slots: number, values: (slot: number, counter: number) => number | undefined): void {
    this.beginPoll(slots)
    for (let slot = 0; slot < slots; slot++) {
      for (let counter = 0; counter < COUNTER_COUNT; counter++) {
        this.#values[slot * COUNTER_COUNT + counter] = values(slot, counter) ?? Number.NaN
      }
      this.see(slot)
    }
  }
}
