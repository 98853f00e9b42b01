import { shareOf } from '../../storage/archive/buckets.ts'
import type { RingWriter } from '../../storage/archive/ring.ts'
import { COUNTER_COUNT, isGauge, METRIC_COUNT } from '../../storage/archive/tiers.ts'

const GAUGES = Array.from({ length: METRIC_COUNT }, (_, metric) => metric).filter(isGauge)
/** Sessions and the queue are counts, which can be added. The gauges after them are averages, which cannot. */
const COUNTS = 2

/** Figures collected since the last second was closed, by slot in the ring: gauges and sums of increments. */
export class SecondSums {
  /** How many counters the source has, counted from the first. */
  readonly #counters: number
  #sums = new Float64Array(0)
  #touched = new Uint8Array(0)
  /** Number of the poll that set the gauges of a slot. */
  #gaugePoll = new Uint32Array(0)

  constructor(counters = COUNTER_COUNT) {
    this.#counters = counters
  }

  /** Makes room for this many slots. */
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

  /**
   * Takes the gauges of a row. Counts of several processes in one poll are added; averages are those of the current
   * process. Gauges of an earlier poll are replaced.
   */
  gauges(slot: number, values: Float64Array, from: number, poll: number, isCurrent: boolean): void {
    const at = this.#begun(slot)
    const isFirst = this.#gaugePoll[slot] !== poll
    this.#gaugePoll[slot] = poll
    for (let index = 0; index < GAUGES.length; index++) {
      const metric = GAUGES[index] ?? 0
      const value = values[from + metric] ?? Number.NaN
      if (index < COUNTS) this.#sums[at + metric] = isFirst ? value : (this.#sums[at + metric] ?? 0) + value
      else if (isCurrent) this.#sums[at + metric] = value
      else if (isFirst) this.#sums[at + metric] = Number.NaN
    }
  }

  /** Adds sessions of a process of which no other figure is known now. */
  addSessions(slot: number, value: number, poll: number): void {
    const at = this.#begun(slot)
    const isFirst = this.#gaugePoll[slot] !== poll
    this.#gaugePoll[slot] = poll
    if (isFirst) for (const metric of GAUGES) this.#sums[at + metric] = Number.NaN
    this.#sums[at] = isFirst ? value : (this.#sums[at] ?? 0) + value
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
   * Writes second `index` of the `n` that the sums cover. The gauges were sampled at the end of the last of these
   * seconds; earlier gauges are unknown, and so are the increments when their time is unknown.
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
      if (index === n - 1 && this.#gaugePoll[slot] === poll) {
        for (const metric of GAUGES) ring.set(slot, second, metric, this.#sums[base + metric] ?? Number.NaN)
      }
      if (unknown) continue
      for (let metric = 1; metric <= this.#counters; metric++)
        ring.set(slot, second, metric, shareOf(this.#sums[base + metric] ?? Number.NaN, n, index))
    }
  }

  /** Forgets what was collected. */
  clear(): void {
    this.#touched.fill(0)
  }
}
