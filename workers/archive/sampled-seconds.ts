import type { Baseline } from '../../storage/archive/tail-writer.ts'
import { METRIC_COUNT } from '../../storage/archive/tiers.ts'
import type { ArchiveWriter } from '../../storage/archive/writer.ts'
import { ARCHIVE_HEARTBEAT_S, BASELINE_EVERY_S } from '../../storage/limits.ts'
import { ChangedSlots } from './changed-slots.ts'
import { SecondSums } from './second-sums.ts'

/** The times of one poll, in seconds of the archive: `archive_s` names seconds, `monotonic_s` measures intervals. */
export interface PollTime {
  readonly archive_s: number
  readonly monotonic_s: number
  /** Length of the poll, which ended at this time. */
  readonly took_s?: number
  /** Wall-clock time, whatever the clock was set to. */
  readonly wall_s?: number
}

/** Tolerance for jitter, so that an interval of exactly the heartbeat is not unknown. */
const JITTER_S = 0.5

/** The share of a second that increments must cover: those of a shorter span are too small for the whole second. */
const WHOLE_S = 0.8

/** A reused row with only the first gauge set. */
const ALONE = new Float64Array(METRIC_COUNT).fill(Number.NaN)

/** Distributes the collected figures over the seconds since the last good poll, and stores them. */
export class SampledSeconds {
  readonly sums: SecondSums
  readonly changed = new ChangedSlots()
  /** Seconds the increments may have come from. */
  elapsed_s = Number.POSITIVE_INFINITY
  readonly #writer: ArchiveWriter
  /** Monotonic time of the last close with a good poll; `undefined` before the first of this run. */
  #sampled_s: number | undefined
  /** Monotonic time since which this run's polls fall into seconds that an earlier run has written. */
  #waiting_s: number | undefined
  /** The last close had no known increments, so the current ones began in the middle of a second. */
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

  /** Makes room for this many slots. */
  room(slots: number): void {
    this.sums.room(slots)
    this.changed.room(slots)
  }

  beginPoll(): void {
    this.#poll++
  }

  /** Sets the only gauge of a source that has no others, for the current poll. */
  sessions(slot: number, value: number): void {
    ALONE[0] = value
    this.sums.gauges(slot, ALONE, 0, this.#poll, true)
  }

  /** Sets the gauges of a row for the current poll: its values from `at` on, in archive order. */
  gauges(slot: number, values: Float64Array, at: number, isCurrent: boolean): void {
    this.sums.gauges(slot, values, at, this.#poll, isCurrent)
  }

  /** Adds sessions to those of the current poll. */
  addSessions(slot: number, value: number): void {
    this.sums.addSessions(slot, value, this.#poll)
  }

  /** The age of the sample from which the current increments count. */
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

  /** A poll failed. The second stays open while a later poll can still cover it. */
  miss(tick_s: number, time: PollTime): void {
    const since_s = this.sinceSample_s(time)
    if (since_s > ARCHIVE_HEARTBEAT_S + JITTER_S) this.#writer.commit(tick_s, false, undefined)
  }
}
