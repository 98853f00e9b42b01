import { createStatRows, scanStats, STORED_COUNT, type StatHeader } from '../../src/drivers/haproxy/stats-csv.ts'
import { shareOf } from '../../storage/archive/buckets.ts'
import { COUNTER_COUNT, ProcessCounters } from '../../storage/archive/increments.ts'
import { recoverBaseline } from '../../storage/archive/recover.ts'
import type { BaselineSource } from '../../storage/archive/tail-writer.ts'
import { GAUGE_METRIC, METRIC_COUNT } from '../../storage/archive/tiers.ts'
import type { ArchiveWriter } from '../../storage/archive/writer.ts'
import { ARCHIVE_HEARTBEAT_S } from '../../storage/limits.ts'
import { RowMap } from './row-map.ts'
import type { Poll, ProcessStats } from './source.ts'

interface KnownProcess {
  readonly counters: ProcessCounters
  readonly rows: RowMap
}

/** The times of one poll: on the archive's clock (names seconds) and on the monotonic one (measures). */
export interface PollTime {
  readonly archive_s: number
  readonly monotonic_s: number
}

export interface Absorbed {
  readonly header: StatHeader
  readonly starts: Uint32Array<ArrayBuffer>
  readonly layout: number
}

/** Jitter of the poll itself must not turn an interval of exactly the heartbeat into an unknown one. */
const JITTER_S = 0.5

/**
 * Turns polls into the archive's seconds. `absorb` adds what a poll brought, `close` puts what came together into the seconds
 * since the last good poll. Counters of several processes (a reload with old workers) are summed as increments.
 */
export class Collector implements BaselineSource {
  readonly #writer: ArchiveWriter
  readonly #processes = new Map<number, KnownProcess>()
  readonly #statRows = createStatRows()
  #current: KnownProcess | undefined
  #pid = 0
  /** When the last close with a good poll was, on the monotonic clock; `undefined` until this run had one. */
  #sampled_s: number | undefined
  /** Per slot: the gauge of the last poll and the increments since the last close. */
  #sums = new Float64Array(0)
  #touched = new Uint8Array(0)
  /** Number of the poll that set the gauge. */
  #gaugePoll = new Uint32Array(0)
  #changed = new Uint8Array(0)
  #allChanged = true
  #poll = 0
  /** Seconds the increments may have come from. */
  #elapsed_s = Number.POSITIVE_INFINITY
  #layoutBase = 0

  constructor(writer: ArchiveWriter) {
    this.#writer = writer
    this.#restore()
  }

  get pid(): number {
    return this.#pid
  }

  /** Carries on with the counters of the run before, if HAProxy is still the same process. */
  #restore(): void {
    const baseline = recoverBaseline(this.#writer.databases, this.#writer.objects())
    if (baseline === undefined) return
    const bySlot = new Map<number, readonly number[]>()
    for (const object of this.#writer.objects()) {
      const counters = baseline.counters.get(object.id)
      const place = counters === undefined ? undefined : this.#writer.ensure(object.kind, object.name, object.backend)
      if (counters !== undefined && place !== undefined) bySlot.set(place.slot, counters)
    }
    const counters = new ProcessCounters(baseline.pid, false)
    counters.restore(this.#writer.registry.slots, (slot, counter) => bySlot.get(slot)?.[counter])
    this.#processes.set(baseline.pid, { counters, rows: new RowMap() })
  }

  /** Adds a poll; `undefined` when its answer was torn: nothing of it counts. */
  absorb(poll: Poll & { readonly ok: true }, time: PollTime): Absorbed | undefined {
    const header = scanStats(poll.current.bytes, this.#statRows, poll.current.from)
    if (header === undefined) return undefined
    this.#poll++
    const current = this.#knownOrNew(poll.current, time)
    if (this.#pid !== poll.current.pid) this.#allChanged = true
    if (this.#current !== current) this.#layoutBase += (this.#current?.rows.layout ?? 0) + 1
    this.#pid = poll.current.pid
    this.#current = current
    this.#add(current, poll.current, true)
    const starts = new Uint32Array(this.#statRows.count + 1)
    starts[0] = header.start
    starts.set(this.#statRows.starts.subarray(0, this.#statRows.count), 1)
    for (const old of poll.old) {
      if (scanStats(old.bytes, this.#statRows, old.from) === undefined) continue
      this.#add(this.#processes.get(old.pid) ?? this.#remember(old.pid, false), old, false)
    }
    for (const pid of this.#processes.keys()) {
      if (pid !== this.#pid && !poll.oldPids.includes(pid)) this.#processes.delete(pid)
    }
    return { header, starts, layout: this.#layoutBase + current.rows.layout }
  }

  #remember(pid: number, fresh: boolean): KnownProcess {
    const known = { counters: new ProcessCounters(pid, fresh), rows: new RowMap() }
    this.#processes.set(pid, known)
    return known
  }

  /**
   * The process that answered, and the time its increments may stem from. A process that started after the last good poll
   * counts in full from its start; the same number with a later start is another process.
   */
  #knownOrNew(stats: ProcessStats, time: PollTime): KnownProcess {
    const sinceSample_s =
      this.#sampled_s === undefined ? time.archive_s - this.#writer.sampled_s : time.monotonic_s - this.#sampled_s
    const age_s = stats.uptime_s === undefined ? sinceSample_s : stats.uptime_s + 1
    const known = this.#processes.get(stats.pid)
    // What this run did not see at its last poll has begun since; HAProxy's uptime is only good to a second either way.
    const young = this.#sampled_s !== undefined || age_s - 1 <= sinceSample_s
    const restarted = known !== undefined && stats.uptime_s !== undefined && stats.uptime_s + 1 < sinceSample_s
    if (known !== undefined && !restarted) {
      this.#elapsed_s = sinceSample_s
      return known
    }
    this.#elapsed_s = young ? Math.min(age_s, sinceSample_s) : sinceSample_s
    return this.#remember(stats.pid, young)
  }

  #room(slots: number): void {
    if (this.#touched.length >= slots) return
    const size = Math.max(slots, this.#touched.length * 2, 64)
    const sums = new Float64Array(size * METRIC_COUNT)
    sums.set(this.#sums)
    this.#sums = sums
    this.#touched = extend(this.#touched, new Uint8Array(size))
    this.#changed = extend(this.#changed, new Uint8Array(size))
    const gaugePoll = new Uint32Array(size)
    gaugePoll.set(this.#gaugePoll)
    this.#gaugePoll = gaugePoll
  }

  #add(process: KnownProcess, stats: ProcessStats, current: boolean): void {
    const rows = this.#statRows
    process.rows.update(stats.bytes, rows, (kind, name, backend) => this.#writer.ensure(kind, name, backend))
    process.counters.beginPoll(this.#writer.registry.slots)
    for (let row = 0; row < rows.count; row++) {
      const object = process.rows.objects[row]
      if (object === undefined) continue
      // It was away for long and is back: it needs a place in the ring again.
      if (object.slot < 0) this.#writer.ensure(object.kind, object.name, object.backend)
      this.#room(this.#writer.registry.slots)
      if (object.slot >= 0) this.#addRow(process.counters, object.slot, row * STORED_COUNT, current)
    }
  }

  #addRow(counters: ProcessCounters, slot: number, at: number, current: boolean): void {
    const sums = this.#sums
    const base = slot * METRIC_COUNT
    const { values } = this.#statRows
    if (this.#touched[slot] === 0) {
      this.#touched[slot] = 1
      sums.fill(0, base, base + METRIC_COUNT)
    }
    const gauge = values[at] ?? Number.NaN
    sums[base] = this.#gaugePoll[slot] === this.#poll ? (sums[base] ?? 0) + gauge : gauge
    this.#gaugePoll[slot] = this.#poll
    if (current && !counters.known(slot)) this.#changed[slot] = 1
    for (let counter = 0; counter < COUNTER_COUNT; counter++) {
      const increment = counters.increment(slot, counter, values[at + 1 + counter] ?? Number.NaN)
      if (increment !== 0) this.#addIncrement(slot, base + 1 + counter, increment, current)
    }
    counters.see(slot)
  }

  #addIncrement(slot: number, at: number, increment: number, current: boolean): void {
    const unknown = Number.isNaN(increment)
    if (unknown || !current) this.#changed[slot] = 1
    // What an old worker cannot tell is left out: the current worker's figure still holds.
    if (current || !unknown) this.#sums[at] = (this.#sums[at] ?? 0) + increment
  }

  /** Ends the seconds before `tick_s` with what was absorbed, and stores them. */
  close(tick_s: number, time: PollTime): void {
    const ring = this.#writer.ring
    const written = ring.written()
    if (tick_s <= written) return
    const unknown = this.#elapsed_s > ARCHIVE_HEARTBEAT_S + JITTER_S
    const wanted = unknown ? 1 : Math.max(1, Math.round(this.#elapsed_s))
    const n = Math.min(tick_s - written, wanted)
    const first = tick_s - n
    if (this.#writer.hwm_s < first && written < first) this.#writer.commit(first, false, undefined)
    if (unknown) this.#allChanged = true
    for (let second = first; second < tick_s; second++) this.#writeSecond(second, n, second - first, unknown)
    this.#sampled_s = time.monotonic_s
    this.#touched.fill(0)
    this.#writer.commit(tick_s, true, this)
    this.#changed.fill(0)
    this.#allChanged = false
  }

  #writeSecond(second: number, n: number, index: number, unknown: boolean): void {
    const ring = this.#writer.ring
    ring.beginSecond(second)
    for (let slot = 0; slot < this.#touched.length; slot++) {
      if (this.#touched[slot] !== 1) continue
      const base = slot * METRIC_COUNT
      // The gauge was sampled at the end of the last second; what it was before is unknown.
      if (index === n - 1 && this.#gaugePoll[slot] === this.#poll) {
        ring.set(slot, second, GAUGE_METRIC, this.#sums[base] ?? Number.NaN)
      }
      if (unknown) continue
      for (let metric = 1; metric < METRIC_COUNT; metric++) {
        ring.set(slot, second, metric, shareOf(this.#sums[base + metric] ?? Number.NaN, n, index))
      }
    }
  }

  /** A poll failed. The second stays open as long as a later poll may still tell what happened in it. */
  miss(tick_s: number, time: PollTime): void {
    const since_s =
      this.#sampled_s === undefined ? time.archive_s - this.#writer.sampled_s : time.monotonic_s - this.#sampled_s
    if (since_s > ARCHIVE_HEARTBEAT_S + JITTER_S) this.#writer.commit(tick_s, false, undefined)
  }

  counter(slot: number, counter: number): number {
    const counters = this.#current?.counters
    return counters !== undefined && counters.seenNow(slot) ? counters.valueOf(slot, counter) : Number.NaN
  }

  changed(slot: number): boolean {
    return this.#allChanged || this.#changed[slot] === 1
  }
}

function extend(old: Uint8Array<ArrayBuffer>, grown: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  grown.set(old)
  return grown
}
