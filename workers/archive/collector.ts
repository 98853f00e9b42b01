import { createStatRows, scanStats, STORED_COUNT, type StatHeader } from '../../src/drivers/haproxy/stats-csv.ts'
import type { ArchiveObject } from '../../storage/archive/catalog.ts'
import type { ProcessCounters } from '../../storage/archive/increments.ts'
import { COUNTER_COUNT } from '../../storage/archive/tiers.ts'
import type { ArchiveWriter } from '../../storage/archive/writer.ts'
import { counterOrigin, InheritedCounters } from './inheritance.ts'
import { type KnownProcess, newProcess, restoredProcess } from './known-process.ts'
import type { ProcessStats } from './process-answer.ts'
import { beganAfter, beganSince, isAnother, type ProcessAge } from './process-age.ts'
import { type PollTime, SampledSeconds } from './sampled-seconds.ts'
import type { Poll } from './source.ts'

export interface Absorbed {
  /** The raw answer of the current process. */
  readonly csv: Uint8Array<ArrayBuffer>
  readonly header: StatHeader
  readonly starts: Uint32Array<ArrayBuffer>
  /** Changes when the rows change or their counters restart. */
  readonly layout: number
  /** Kind of each row except the header. */
  readonly kinds: Uint8Array<ArrayBuffer>
  /** Offset of the status in each row except the header. */
  readonly statuses: Uint32Array<ArrayBuffer>
  /** Object of each row except the header; `undefined` beyond the archive's cap. */
  readonly objects: readonly (ArchiveObject | undefined)[]
}

type Role = 'current' | 'old' | 'shared'

/**
 * Turns polls into the archive's seconds. `absorb` adds the figures of a poll; `close` distributes what was collected
 * over the seconds since the last good poll. The counters of several processes (a reload with old workers) are summed
 * as increments.
 */
export class Collector {
  readonly #writer: ArchiveWriter
  readonly #processes = new Map<number, KnownProcess>()
  readonly #statRows = createStatRows()
  #current: KnownProcess | undefined
  /** The process that an earlier run of the daemon polled last. */
  readonly #restored: KnownProcess | undefined
  #pid = 0
  /** The processes that existed at the last poll of this run. */
  #polled: ReadonlySet<number> = new Set()
  readonly #seconds: SampledSeconds
  #layoutBase = 0
  /** Since the last poll, counters of the current process were cleared or an object was recreated. */
  #isCleared = false

  constructor(writer: ArchiveWriter) {
    this.#writer = writer
    this.#seconds = new SampledSeconds(writer)
    this.#restored = restoredProcess(writer)
    if (this.#restored !== undefined) this.#processes.set(this.#restored.counters.pid, this.#restored)
  }

  /** Adds a poll. Returns `undefined` for a truncated answer, of which nothing counts. */
  absorb(poll: Poll & { readonly ok: true }, time: PollTime): Absorbed | undefined {
    const header = scanStats(poll.current.bytes, this.#statRows, poll.current.from)
    if (header === undefined) return undefined
    this.#seconds.beginPoll()
    const starts = new Uint32Array(this.#statRows.count + 1)
    starts[0] = header.start
    starts.set(this.#statRows.starts.subarray(0, this.#statRows.count), 1)
    const kinds = this.#statRows.kinds.slice(0, this.#statRows.count)
    const statuses = this.#statRows.statuses.slice(0, this.#statRows.count)
    const predecessor = this.#current ?? this.#restored
    const current = this.#knownOrNew(poll.current, time)
    const inherited = current === predecessor ? undefined : this.#inherited(poll.current, predecessor)
    if (this.#pid !== poll.current.pid) this.#seconds.changed.addAll()
    if (this.#current !== current) this.#layoutBase += (this.#current?.rows.layout ?? 0) + 1
    this.#pid = poll.current.pid
    this.#current = current
    if (inherited === undefined) this.#add(current, poll.current, 'current')
    this.#absorbOld(poll, current !== predecessor, time)
    // The inherited counters are known only after the predecessor was polled.
    if (inherited !== undefined && scanStats(poll.current.bytes, this.#statRows, poll.current.from) !== undefined)
      this.#add(current, poll.current, 'current', inherited)
    if (this.#isCleared) this.#layoutBase++
    this.#isCleared = false
    const { layout, objects } = current.rows
    return { csv: poll.current.bytes, header, starts, kinds, statuses, layout: this.#layoutBase + layout, objects }
  }

  #absorbOld({ old, oldPids, ended = [] }: Poll & { readonly ok: true }, wasReloaded: boolean, time: PollTime): void {
    for (const stats of old) {
      if (scanStats(stats.bytes, this.#statRows, stats.from) === undefined) continue
      const process = this.#processes.get(stats.pid) ?? this.#replaced(stats, wasReloaded, time)
      this.#add(process, stats, process.isShared ? 'shared' : 'old')
    }
    for (const pid of this.#processes.keys()) {
      if (pid !== this.#pid && !oldPids.includes(pid)) this.#processes.delete(pid)
    }
    const heard = new Set([...old.map(({ pid }) => pid), ...ended])
    for (const pid of oldPids) if (!heard.has(pid)) this.#repeatSessions(pid)
    this.#polled = new Set([this.#pid, ...oldPids])
  }

  /** A worker that serves its last connections, but is too busy to say so, is not without any. */
  #repeatSessions(pid: number): void {
    const process = this.#processes.get(pid)
    process?.rows.objects.forEach((object, row) => {
      const sessions = process.sessions[row] ?? 0
      if (object !== undefined && object.slot >= 0 && sessions > 0) this.#seconds.addSessions(object.slot, sessions)
    })
  }

  /**
   * A process that started and was replaced between two polls has counted everything since the first of them, unless it
   * began with the counters of another process.
   */
  #replaced(stats: ProcessStats, wasReloaded: boolean, time: PollTime): KnownProcess {
    const since_s = this.#seconds.sinceSample_s(time)
    const isNew = wasReloaded && this.#polled.size > 0 && !this.#polled.has(stats.pid)
    const began = isNew && beganSince(stats.uptime_s, since_s, this.#seconds.hasSample)
    const origin = counterOrigin(stats, this.#statRows)
    const process = this.#remember(newProcess(stats.pid, began && origin === 'zero'))
    process.isShared = origin === 'shared'
    return process
  }

  /** Returns the counters that a new process inherited from its predecessor; `undefined` when it began at zero. */
  #inherited(stats: ProcessStats, predecessor: KnownProcess | undefined): InheritedCounters | undefined {
    const origin = counterOrigin(stats, this.#statRows)
    if (origin === 'zero') return undefined
    if (origin === 'shared')
      for (const process of this.#processes.values()) process.isShared ||= process.counters.pid !== stats.pid
    return new InheritedCounters(predecessor?.counters, this.#writer.registry.slots, origin)
  }

  #remember(process: KnownProcess): KnownProcess {
    this.#processes.set(process.counters.pid, process)
    return process
  }

  /**
   * Returns the process that answered and sets the time span that its increments cover. A process that started after
   * the last good poll counts in full from its start; the same pid with a later start is another process.
   */
  #knownOrNew(stats: ProcessStats, time: PollTime): KnownProcess {
    const sinceSample_s = this.#seconds.sinceSample_s(time)
    const { pid, uptime_s } = stats
    const known = this.#processes.get(pid)
    const { took_s = 0, monotonic_s: heard_s, wall_s } = time
    const age = { uptime_s, heard_s, took_s, wall_s }
    if (known !== undefined && !this.#isReplaced(known, age, sinceSample_s)) {
      this.#seconds.elapsed_s = sinceSample_s
      known.age = age
      return known
    }
    const young = beganSince(uptime_s, sinceSample_s, this.#seconds.hasSample)
    this.#seconds.elapsed_s = young && uptime_s !== undefined ? Math.min(uptime_s + 1, sinceSample_s) : sinceSample_s
    return this.#remember(newProcess(pid, young, age))
  }

  /** Whether the pid now belongs to another process. A process without an age existed at the last sample. */
  #isReplaced({ age }: KnownProcess, now: ProcessAge, sinceSample_s: number): boolean {
    if (age !== undefined) return isAnother(age, now)
    return now.uptime_s !== undefined && beganAfter(now.uptime_s, sinceSample_s, now.took_s)
  }

  #add(process: KnownProcess, stats: ProcessStats, role: Role, inherited?: InheritedCounters): void {
    const rows = this.#statRows
    process.rows.update(stats.bytes, rows, (kind, name, backend) => this.#writer.ensure(kind, name, backend))
    process.counters.beginPoll(this.#writer.registry.slots)
    if (process.sessions.length !== rows.count) process.sessions = new Float64Array(rows.count)
    const { sessions } = process
    for (let row = 0; row < rows.count; row++) {
      const object = process.rows.objects[row]
      if (object === undefined) continue
      // The object was absent for long and has returned: it needs a slot in the ring again.
      if (object.slot < 0) this.#writer.ensure(object.kind, object.name, object.backend)
      this.#seconds.room(this.#writer.registry.slots)
      if (object.slot < 0) continue
      if (stats.isSporadic !== true) {
        sessions[row] = rows.values[row * STORED_COUNT] ?? 0
        this.#seconds.gauges(object.slot, rows.values, row * STORED_COUNT, role === 'current')
      }
      this.#addRow(process.counters, object.slot, row * STORED_COUNT, role, inherited)
    }
  }

  #addRow(
    counters: ProcessCounters,
    slot: number,
    at: number,
    role: Role,
    inherited: InheritedCounters | undefined,
  ): void {
    const { values } = this.#statRows
    const current = role === 'current'
    if (current && !counters.known(slot)) this.#seconds.changed.add(slot)
    for (let counter = 0; counter < COUNTER_COUNT; counter++) {
      const value = values[at + 1 + counter] ?? Number.NaN
      const own = counters.increment(slot, counter, value)
      if (Number.isNaN(value)) {
        if (role !== 'shared' && this.#lacks(slot, counter)) this.#seconds.sums.add(slot, counter, value)
        continue
      }
      const increment = inherited === undefined ? own : inherited.increment(slot, counter, value)
      // Counters in shared memory are already part of the current worker's answer.
      if (increment !== 0 && role !== 'shared') this.#addIncrement(slot, counter, increment, current)
    }
    counters.see(slot)
  }

  /** HAProxy does not have this counter for the object: it is unknown, and no stored counter changes. */
  #lacks(slot: number, counter: number): boolean {
    return Number.isNaN(this.#current?.counters.valueNow(slot, counter) ?? Number.NaN)
  }

  #addIncrement(slot: number, counter: number, increment: number, current: boolean): void {
    const unknown = Number.isNaN(increment)
    if (unknown || !current) this.#seconds.changed.add(slot)
    if (unknown && current) this.#isCleared = true
    // A counter that an old worker does not have is left out: the current worker's figure still holds.
    if (current || !unknown) this.#seconds.sums.add(slot, counter, increment)
  }

  /** Ends the seconds before `tick_s` with the absorbed figures, and stores them. */
  close(tick_s: number, time: PollTime): void {
    if (this.#current !== undefined) this.#seconds.close(tick_s, time, this.#pid, this.#current.counters)
  }

  /** A poll failed. The second stays open while a later poll can still cover it. */
  miss(tick_s: number, time: PollTime): void {
    this.#seconds.miss(tick_s, time)
  }

  /** The stored counters are lost: all are stored again with the next second. */
  storeAll(): void {
    this.#seconds.changed.addAll()
  }
}
