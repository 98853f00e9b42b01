import { COLUMN, COLUMNS } from '../../src/ipvs/names.ts'
import { TOTAL_COUNT } from '../../src/ipvs/protocol.ts'
import type { IpvsTable } from '../../src/ipvs/table.ts'
import type { ArchiveObject } from '../../storage/archive/catalog.ts'
import { recoverBaseline } from '../../storage/archive/recover.ts'
import type { ArchiveWriter } from '../../storage/archive/writer.ts'
import { EntryCounters } from './entry-counters.ts'
import { type IpvsPlaces, NO_ROW } from './ipvs-places.ts'
import { type PollTime, SampledSeconds } from './sampled-seconds.ts'

/** The kernel counters that are archived, in archive order: sessions, bytes in, bytes out. */
const COUNTERS = [COLUMN.connections, COLUMN.bytesIn, COLUMN.bytesOut] as const
const COUNTER_COUNT = COUNTERS.length

/**
 * Turns readings of the kernel's table into the archive's seconds. Increments are computed for every entry of the table
 * and then added to its object, so that an entry which appears or disappears never counts as traffic.
 */
export class IpvsCollector {
  readonly #writer: ArchiveWriter
  readonly #places: IpvsPlaces
  readonly #seconds: SampledSeconds
  readonly #entries: EntryCounters
  /** Objects of the rows, with their slots in the ring. */
  #objects: readonly (ArchiveObject | undefined)[] = []
  /** Totals of the objects by slot, to carry on from after a restart. */
  readonly #totals = new Totals()
  #isFirst = true
  readonly #restored: ReturnType<typeof recoverBaseline>

  constructor(writer: ArchiveWriter, places: IpvsPlaces) {
    this.#writer = writer
    this.#places = places
    this.#entries = new EntryCounters(places)
    this.#seconds = new SampledSeconds(writer, COUNTER_COUNT)
    this.#restored = recoverBaseline(writer.databases, writer.objects())
  }

  /** Increments of the last reading, by entry (see `EntryCounters`). */
  get increments(): Float64Array {
    return this.#entries.increments
  }

  /** Adds a reading; `rows` are the figures of the objects. */
  absorb(table: IpvsTable, rows: Float64Array, time: PollTime): void {
    this.#seconds.beginPoll()
    this.#seconds.elapsed_s = this.#seconds.sinceSample_s(time)
    if (this.#entries.read(table)) {
      this.#seconds.changed.addAll()
      this.#objects = []
    }
    this.#placeObjects(rows)
    if (this.#isFirst) this.#carryOn()
    else this.#addEntries(table)
    this.#isFirst = false
  }

  #placeObjects(rows: Float64Array): void {
    const { plan } = this.#places
    if (this.#objects.length === 0) {
      const ensure = (kind: ArchiveObject['kind'], name: string, backend: string) =>
        this.#writer.ensure(kind, name, backend)
      this.#objects = [
        ...plan.frontends.map(({ id }) => ensure('frontend', id, '')),
        ...plan.backends.map(({ id }) => ensure('backend', id, '')),
        ...plan.backends.flatMap(({ id, members }) => members.map(({ ripId }) => ensure('server', ripId, id))),
      ]
    }
    for (const [row, object] of this.#objects.entries()) {
      const active = rows[row * COLUMNS + COLUMN.activeConnections] ?? Number.NaN
      if (object === undefined || !hasEntries(rows, row)) continue
      // The object was absent for long and has returned: it needs a slot in the ring again.
      if (object.slot < 0) this.#writer.ensure(object.kind, object.name, object.backend)
      this.#seconds.room(this.#writer.registry.slots)
      this.#totals.room(this.#writer.registry.slots)
      // A service without servers has no connections.
      this.#seconds.sessions(object.slot, active === active ? active : 0)
      for (const [counter, column] of COUNTERS.entries()) {
        const total = this.#isSeen(row, column) ? (rows[row * COLUMNS + column] ?? Number.NaN) : 0
        this.#totals.set(object.slot, counter, total)
      }
    }
  }

  /** Whether a column of an object is known at all. */
  #isSeen(row: number, column: number): boolean {
    return column !== COLUMN.bytesOut || this.#places.outbound[row] === true
  }

  /** At the first reading of this run, continues the counters that an earlier run stored for the same entries. */
  #carryOn(): void {
    const restored = this.#restored?.pid === this.#places.identity ? this.#restored : undefined
    for (const [row, object] of this.#objects.entries()) {
      if (object === undefined || object.slot < 0) continue
      for (const [counter, column] of COUNTERS.entries()) {
        const before = restored?.counters.get(object.id)?.[counter] ?? Number.NaN
        const now = this.#totals.valueNow(object.slot, counter)
        const isKnown = now >= before && this.#isSeen(row, column)
        this.#add(object.slot, counter, isKnown ? now - before : Number.NaN)
      }
    }
  }

  #addEntries({ services, dests }: IpvsTable): void {
    const { serviceRows, destRows } = this.#places
    for (let entry = 0; entry < services.count; entry++) this.#addEntry(entry, serviceRows[entry] ?? NO_ROW)
    for (let dest = 0; dest < dests.count; dest++) this.#addEntry(services.count + dest, destRows[dest] ?? NO_ROW)
  }

  /** Runs for every entry of the table, every two seconds. */
  #addEntry(entry: number, row: number): void {
    const object = this.#objectAt(row)
    if (object === undefined) return
    const group = this.#objectAt(this.#places.ownerRows[row] ?? NO_ROW)
    for (let counter = 0; counter < COUNTER_COUNT; counter++) {
      const column = COUNTERS[counter] ?? 0
      const increment = this.increments[entry * TOTAL_COUNT + column] ?? Number.NaN
      if (!this.#isSeen(row, column)) this.#hide(object.slot, group?.slot, counter)
      else if (increment !== 0) {
        this.#add(object.slot, counter, increment)
        if (group !== undefined) this.#add(group.slot, counter, increment)
      }
    }
  }

  #objectAt(row: number): ArchiveObject | undefined {
    return row === NO_ROW ? undefined : this.#objects[row]
  }

  /** The counter was never known, so no stored value changes. */
  #hide(slot: number, group: number | undefined, counter: number): void {
    if (slot >= 0) this.#seconds.sums.add(slot, counter, Number.NaN)
    if (group !== undefined && group >= 0) this.#seconds.sums.add(group, counter, Number.NaN)
  }

  #add(slot: number, counter: number, increment: number): void {
    if (slot < 0) return
    if (increment !== increment) this.#seconds.changed.add(slot)
    this.#seconds.sums.add(slot, counter, increment)
  }

  /** Ends the seconds before `tick_s` with the absorbed figures, and stores them. */
  close(tick_s: number, time: PollTime): void {
    // The identity shows whether the counters belong to the same entries as before.
    this.#seconds.close(tick_s, time, this.#places.identity, this.#totals)
  }

  /** The table could not be read. */
  miss(tick_s: number, time: PollTime): void {
    this.#seconds.miss(tick_s, time)
  }

  /** The stored counters are lost: all are stored again with the next second. */
  storeAll(): void {
    this.#seconds.changed.addAll()
  }
}

/** Totals of the objects by slot in the ring. */
class Totals {
  #values = new Float64Array(0)

  /** Makes room for this many slots. */
  room(slots: number): void {
    if (this.#values.length >= slots * COUNTER_COUNT) return
    const size = Math.max(slots * COUNTER_COUNT, this.#values.length * 2, 64 * COUNTER_COUNT)
    const values = new Float64Array(size).fill(Number.NaN)
    values.set(this.#values)
    this.#values = values
  }

  set(slot: number, counter: number, value: number): void {
    this.#values[slot * COUNTER_COUNT + counter] = value
  }

  /** NaN for counters that the kernel does not have. */
  valueNow(slot: number, counter: number): number {
    if (counter >= COUNTER_COUNT) return Number.NaN
    return this.#values[slot * COUNTER_COUNT + counter] ?? Number.NaN
  }
}

const hasEntries = (rows: Float64Array, row: number): boolean => {
  const connections = rows[row * COLUMNS + COLUMN.connections] ?? Number.NaN
  return connections === connections
}
