import type { Baseline } from '../../storage/archive/tail-writer.ts'
import { METRIC_COUNT } from '../../storage/archive/tiers.ts'
import type { ArchiveWriter } from '../../storage/archive/writer.ts'
import { ARCHIVE_HEARTBEAT_S, BASELINE_EVERY_S } from '../../storage/limits.ts'
import { ChangedSlots } from './changed-slots.ts'
import { SecondSums } from './second-sums.ts'

/**
 * The times of one poll: on the archive's clock (names seconds) and on the monotonic one (measures). In seconds of the
 * archive.
 */
export interface PollTime {
  readonly archive_s: number
  readonly monotonic_s: number
  /** How long the poll took, which was over at this time. */
  readonly took_s?: number
  /** Wall-clock time, wherever the clock was set to. */
  readonly wall_s?: number
}

/** Jitter of the poll itself must not turn an interval of exactly the heartbeat into an unknown one. */
const JITTER_S = 0.5

/** The part of a second that increments have to cover: those of a shorter part are too small for the whole. */
const WHOLE_S = 0.8

/** A row that has the first of all gauges. */
const ALONE = new Float64Array(METRIC_COUNT).fill(Number.NaN)

/** Puts what polls brought together into the seconds since the last good poll, and stores them. */
export class SampledSeconds {
  readonly sums: SecondSums
  readonly changed = new ChangedSlots()
  /** Seconds the increments may have come from. */
  elapsed_s = Number.POSITIVE_INFINITY
  readonly #writer: ArchiveWriter
  /** When the last close with a good poll was, on the monotonic clock; `undefined` until this run had one. */
  #sampled_s: number | undefined
  /** Since when, on the monotonic clock, this run's polls belong to seconds that an earlier run has written. */
  #waiting_s: number | undefined
  /** The last close could tell no increments: what is counted now began in the middle of a second. */
  #beginsAnew = false
  #poll = 0

  /** `counters`: how many the source has. */
  constructor(writer: ArchiveWriter, counters?: number) {
    this.#writer = writer
    this.sums = new SecondSums(counters)
  }

  /** Whether this run has closed a second with a good poll. */
  get hasSample(): boolean {
    return this.#sampled_s !== undefined
  }

  /** Makes room for so many places. */
  room(slots: number): void {
    this.sums.room(slots)
    this.changed.room(slots)
  }

  beginPoll(): void {
    this.#poll++
  }

  /** The only gauge of a source that has no others, at the poll that was begun last. */
  sessions(slot: number, value: number): void {
    ALONE[0] = value
    this.sums.gauges(slot, ALONE, 0, this.#poll, true)
  }

  /** Gauges of the poll that was begun last: the values of a row, from `at` on, in the order of the archive. */
  gauges(slot: number, values: Float64Array, at: number, isCurrent: boolean): void {
    this.sums.gauges(slot, values, at, this.#poll, isCurrent)
  }

  /** How long ago the increments that come now began. */
  sinceSample_s(time: PollTime): number {
    if (this.#sampled_s !== undefined) return time.monotonic_s - this.#sampled_s
    const waited_s = time.monotonic_s - (this.#waiting_s ?? time.monotonic_s)
    return Math.max(waited_s, time.archive_s - this.#writer.sampled_s)
  }

  /** Ends the seconds before `tick_s`, unless an earlier run has written them; `pid` is the process that counts. */
  close(tick_s: number, time: PollTime, pid: number, counters: Baseline['counters']): void {
    const ring = this.#writer.ring
    const written = ring.written()
    if (tick_s <= written) {
      this.#waiting_s ??= time.monotonic_s
      return
    }
    const isTooLong = this.elapsed_s > ARCHIVE_HEARTBEAT_S + JITTER_S
    const unknown = isTooLong || (this.#beginsAnew && this.elapsed_s < WHOLE_S)
    this.#beginsAnew = isTooLong
    const wanted = unknown ? 1 : Math.max(1, Math.round(this.elapsed_s))
    const n = Math.min(tick_s - written, wanted)
    const first = tick_s - n
    if (this.#writer.hwm_s < first && written < first) this.#writer.passOver(first)
    for (let second = first; second < tick_s; second++)
      this.sums.write(ring, second, { n, index: second - first, poll: this.#poll, unknown })
    // After so long without a commit, the crash tail does not reach back to the stored counters.
    if (unknown || tick_s - this.#writer.hwm_s > BASELINE_EVERY_S) this.changed.addAll()
    this.#sampled_s = time.monotonic_s
    this.sums.clear()
    this.#writer.commit(tick_s, true, { pid, counters, changed: this.changed })
    this.changed.clear()
  }

  /** A poll failed. The second stays open as long as a later poll may still tell what happened in it. */
  miss(tick_s: number, time: PollTime): void {
    const since_s = this.sinceSample_s(time)
    if (since_s > ARCHIVE_HEARTBEAT_S + JITTER_S) this.#writer.commit(tick_s, false, undefined)
  }
}
