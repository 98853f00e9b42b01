import { shareOf } from '../../storage/archive/buckets.ts'
import type { RingWriter } from '../../storage/archive/ring.ts'
import { GAUGE_METRIC, METRIC_COUNT } from '../../storage/archive/tiers.ts'

/** What came together since the last second was closed, by place in the ring: a gauge and the sums of increments. */
export class SecondSums {
  #sums = new Float64Array(0)
  #touched = new Uint8Array(0)
  /** Number of the poll that set the gauge. */
  #gaugePoll = new Uint32Array(0)

  /** Makes room for so many places. */
  room(slots: number): void {
    if (this.#touched.length >= slots) return
    const size = Math.max(slots, this.#touched.length * 2, 64)
    const sums = new Float64Array(size * METRIC_COUNT)
    sums.set(this.#sums)
    this.#sums = sums
    const touched = new Uint8Array(size)
    touched.set(this.#touched)
    this.#touched = touched
    const gaugePoll = new Uint32Array(size)
    gaugePoll.set(this.#gaugePoll)
    this.#gaugePoll = gaugePoll
  }

  /** Gauges of several processes in one poll are added; that of an earlier poll is replaced. */
  gauge(slot: number, value: number, poll: number): void {
    const at = this.#begun(slot)
    this.#sums[at] = this.#gaugePoll[slot] === poll ? (this.#sums[at] ?? 0) + value : value
    this.#gaugePoll[slot] = poll
  }

  #begun(slot: number): number {
    const at = slot * METRIC_COUNT
    if (this.#touched[slot] === 0) {
      this.#touched[slot] = 1
      this.#sums.fill(0, at, at + METRIC_COUNT)
    }
    return at
  }

  /** A NaN makes the sum unknown. */
  add(slot: number, counter: number, increment: number): void {
    const at = this.#begun(slot) + 1 + counter
    this.#sums[at] = (this.#sums[at] ?? 0) + increment
  }

  /**
   * Writes second `index` of the `n` that the sums stem from. The gauge was sampled at the end of the last of them;
   * what it was before is unknown, as are the increments when nobody can tell when they happened.
   */
  write(
    ring: RingWriter,
    second: number,
    { n, index, poll, unknown }: { n: number; index: number; poll: number; unknown: boolean },
  ): void {
    ring.beginSecond(second)
    for (let slot = 0; slot < this.#touched.length; slot++) {
      if (this.#touched[slot] !== 1) continue
      const base = slot * METRIC_COUNT
      if (index === n - 1 && this.#gaugePoll[slot] === poll)
        ring.set(slot, second, GAUGE_METRIC, this.#sums[base] ?? Number.NaN)
      if (unknown) continue
      for (let metric = 1; metric < METRIC_COUNT; metric++)
        ring.set(slot, second, metric, shareOf(this.#sums[base + metric] ?? Number.NaN, n, index))
    }
  }

  /** Begins anew. */
  clear(): void {
    this.#touched.fill(0)
  }
}
