import { serviceOfKey } from '../../src/ipvs/names.ts'
import { STATS_COUNT, TOTAL_COUNT } from '../../src/ipvs/protocol.ts'
import type { IpvsTable } from '../../src/ipvs/table.ts'
import type { IpvsPlaces } from './ipvs-places.ts'

/** Removed entries that may return with their counters: the kernel keeps them for at least two minutes. */
const GONE_MAX = 100_000

/** The increments of every entry of the kernel's table since the previous reading. */
export class EntryCounters {
  /** Per entry, in the order of the keys, the increments of its totals (see `STATS`). NaN: unknown. */
  increments = new Float64Array(0)
  readonly #places: IpvsPlaces
  #values = new Float64Array(0)
  #keys: readonly string[] = []
  #version = -1
  readonly #gone = new Map<string, Float64Array>()
  /**
   * Destinations that were planned but absent from their service when this run began: the kernel may still have their
   * earlier counters. It drops these when the whole service is recreated.
   */
  readonly #awaited = new Set<string>()
  #isFirst = true

  constructor(places: IpvsPlaces) {
    this.#places = places
  }

  /** Takes a reading. Returns whether its entries differ from the previous ones. */
  read({ services, dests }: IpvsTable): boolean {
    const isOther = this.#followEntries()
    if (this.#isFirst) this.#await()
    for (let entry = 0; entry < services.count; entry++) this.#take(entry, services.stats, entry)
    for (let dest = 0; dest < dests.count; dest++) this.#take(services.count + dest, dests.stats, dest)
    this.#isFirst = false
    return isOther
  }

  #take(entry: number, stats: Float64Array, index: number): void {
    for (let column = 0; column < TOTAL_COUNT; column++) {
      const value = stats[index * STATS_COUNT + column] ?? Number.NaN
      const at = entry * TOTAL_COUNT + column
      this.increments[at] = since(this.#values[at] ?? Number.NaN, value)
      this.#values[at] = value
    }
  }

  /** Carries the known counters over by key if the entries of the table have changed. Returns whether they have. */
  #followEntries(): boolean {
    const { keys, version } = this.#places
    if (version === this.#version) return false
    this.#version = version
    const before = new Map(this.#keys.map((key, index) => [key, index]))
    const values = new Float64Array(keys.length * TOTAL_COUNT).fill(Number.NaN)
    for (const [index, key] of keys.entries()) {
      const place = before.get(key)
      before.delete(key)
      if (place !== undefined) values.set(this.#of(place), index * TOTAL_COUNT)
      else if (!this.#isFirst && !this.#awaited.has(key)) values.set(this.#gone.get(key) ?? BEGINS, index * TOTAL_COUNT)
      this.#gone.delete(key)
      this.#awaited.delete(key)
    }
    if (this.#gone.size > GONE_MAX) this.#gone.clear()
    for (const [key, place] of before) this.#gone.set(key, this.#of(place).map(marked))
    this.#values = values
    this.increments = new Float64Array(values.length)
    this.#keys = keys
    return true
  }

  #await(): void {
    const there = new Set(this.#keys)
    for (const { members } of this.#places.plan.backends)
      for (const { dests } of members)
        for (const key of dests) if (!there.has(key) && there.has(serviceOfKey(key))) this.#awaited.add(key)
  }

  #of(place: number): Float64Array {
    return this.#values.slice(place * TOTAL_COUNT, (place + 1) * TOTAL_COUNT)
  }
}

/** An entry that was absent from the previous reading has counted from zero. */
const BEGINS = new Float64Array(TOTAL_COUNT)
/** Marks a removed entry by a negative value: it may return at zero. */
const marked = (value: number): number => -1 - value

/**
 * Returns by how much a counter grew. A smaller value means that it was cleared, or its entry was recreated in between,
 * so the increment is unknown. A removed entry returns either with its old value or at zero.
 */
function since(before: number, value: number): number {
  if (before >= 0) return value >= before ? value - before : Number.NaN
  const gone = -1 - before
  if (gone !== gone) return Number.NaN
  return value >= gone ? value - gone : value
}
