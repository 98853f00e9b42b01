import { COUNTER_COUNT } from './tiers.ts'

/**
 * Counter values of one HAProxy process, and what they grew by since the poll before. Increments, never values, are
 * summed over the processes that live side by side during a reload. There is no 32-bit wrap logic: HAProxy counts in 64
 * bits.
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

  /** Begins the next poll of this process, of at most about so many objects. */
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

  /** Whether the slot was in the poll before this one. */
  known(slot: number): boolean {
    return this.#poll > 1 && this.#seen[slot] === this.#poll - 1
  }

  /**
   * The increment of one counter since the poll before; NaN when it cannot be known. Call `see` when all counters are
   * done. Same process and not smaller: the difference. Smaller: the counters were cleared, unknown, and a new
   * baseline. Not seen before: the object is new in a process we know, or the process itself is new, so it counted from
   * zero. A counter that the object does not have (NaN) stays unknown.
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

  /** Restores what an earlier run of the daemon knew, as if it were the poll before. */
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
