import { ARCHIVE_OBJECTS_MAX, OBJECT_GONE_AFTER_S, RING_SERVED_S, TAIL_KEPT_S, TRIM_KEYS_MAX } from '../limits.ts'
import { removeRange } from '../env.ts'
import { ByteSink } from './bytes.ts'
import { type ArchiveObject, encodeObject, type ObjectKind, objectKey } from './catalog.ts'
import { encodeBaseChunk, encodeCoarseChunk } from './chunk.ts'
import { Points } from './consolidate.ts'
import { type ArchiveDatabases, chunkLookup, META_NEXT_ID, META_PROGRESS, openArchiveDatabases } from './databases.ts'
import { chunkEndAtOrBefore, coverageStart, makeKey } from './layout.ts'
import { recover } from './recover.ts'
import { RingWriter } from './ring.ts'
import { type BaselineSource, TailWriter } from './tail-writer.ts'
import { METRIC_COUNT, span_s, TIERS, tierAt } from './tiers.ts'
import { TierReader } from './tier-reader.ts'

/** Seconds written in one LMDB transaction at most; a longer gap takes several, or the short cut below. */
const SECONDS_PER_COMMIT = 10

export interface SlotChanges {
  readonly added: ArchiveObject[]
  readonly removed: number[]
  readonly slabs: number[]
}

/**
 * The one writer of the archive. The caller fills the ring (`beginSecond`, `set`) and calls `commit`: one LMDB transaction
 * with the tail rows, the chunks that are due in every tier, the trimming and the high-water mark.
 */
export class ArchiveWriter {
  readonly ring: RingWriter
  readonly databases: ArchiveDatabases
  readonly #byKey: Map<string, ArchiveObject>
  /** In order of their numbers, so that chunks of one second are appended in order. */
  #objects: ArchiveObject[]
  #nextId: number
  #hwm_s: number
  #sampled_s: number
  #slots = 0
  readonly #freeSlots: number[] = []
  readonly #reader: TierReader
  readonly #tail: TailWriter
  readonly #sink = new ByteSink()
  readonly #values = new Float64Array(METRIC_COUNT * tierAt(0).points)
  readonly #points = new Points()
  /** Catalog entries to store with the next commit. */
  readonly #dirty = new Set<ArchiveObject>()
  #changes: SlotChanges = { added: [], removed: [], slabs: [] }
  #refused = false

  /** Opens or makes the archive and rebuilds the ring from the crash tail. */
  constructor(directory: string, now_s: number) {
    this.databases = openArchiveDatabases(directory)
    this.ring = new RingWriter()
    this.#reader = new TierReader(chunkLookup(this.databases), this.ring)
    this.#tail = new TailWriter(this.databases, this.ring)
    const found = recover(this.databases, now_s)
    this.#hwm_s = found.hwm_s
    this.#sampled_s = found.sampled_s
    this.#nextId = found.nextId
    this.#objects = found.objects
    this.#byKey = new Map(found.objects.map((object) => [objectKey(object.kind, object.name, object.backend), object]))
    this.ring.reset(found.ringOldest_s)
    for (const object of found.objects) if (found.inTail.has(object.id)) this.#place(object)
    for (let second = found.ringOldest_s; second < found.hwm_s; second++) {
      this.ring.beginSecond(second)
      this.#tail.restoreSecond(second, this.#objects)
    }
    this.ring.publish(found.hwm_s)
  }

  /** Seconds before this one are committed. */
  get hwm_s(): number {
    return this.#hwm_s
  }

  /** The second up to which the source was last read successfully, by this run or an earlier one. */
  get sampled_s(): number {
    return this.#sampled_s
  }

  get slots(): number {
    return this.#slots
  }

  objects(): readonly ArchiveObject[] {
    return this.#objects
  }

  /** The object of this name with a place in the ring, made if need be. `undefined` beyond the cap. */
  ensure(kind: ObjectKind, name: string, backend: string): ArchiveObject | undefined {
    const key = objectKey(kind, name, backend)
    let object = this.#byKey.get(key)
    if (object === undefined || object.slot < 0) {
      if (this.#slots - this.#freeSlots.length >= ARCHIVE_OBJECTS_MAX) {
        this.#refused = true
        return undefined
      }
    }
    if (object === undefined) {
      const born_s = this.#hwm_s
      object = { id: this.#nextId++, kind, name, backend, born_s, died_s: undefined, slot: -1, seen_s: born_s }
      this.#byKey.set(key, object)
      this.#objects.push(object)
      this.#dirty.add(object)
    }
    if (object.died_s !== undefined) {
      object.died_s = undefined
      this.#dirty.add(object)
    }
    if (object.slot < 0) this.#place(object)
    return object
  }

  /** Whether an object was refused since the last call. */
  takeRefused(): boolean {
    const refused = this.#refused
    this.#refused = false
    return refused
  }

  /** What readers must be told: new places, places given up, new slabs. */
  takeChanges(): SlotChanges {
    const changes = this.#changes
    this.#changes = { added: [], removed: [], slabs: [] }
    return changes
  }

  #place(object: ArchiveObject): void {
    object.slot = this.#freeSlots.pop() ?? this.#slots++
    const made = this.ring.own(object.slot, object.id)
    if (made !== undefined) this.#changes.slabs.push(made)
    this.#changes.added.push(object)
  }

  /**
   * Stores all seconds before `to_s` that are not stored yet. The ring must hold their rows; seconds without a row are unknown.
   * `sampled` says that the source was read at `to_s`. Throws when LMDB refuses; the ring keeps the rows for the next try.
   */
  commit(to_s: number, sampled: boolean, baseline: BaselineSource | undefined): void {
    if (to_s - this.#hwm_s >= RING_SERVED_S && this.ring.written() <= this.#hwm_s) {
      this.#commitRange(this.#hwm_s, to_s, false, undefined)
      this.ring.reset(to_s)
    }
    while (this.#hwm_s < to_s) {
      const until = Math.min(to_s, this.#hwm_s + SECONDS_PER_COMMIT)
      for (let second = this.ring.written(); second < until; second++) this.ring.beginSecond(second)
      this.#commitRange(this.#hwm_s, until, sampled && until === to_s, until === to_s ? baseline : undefined)
    }
    this.ring.publish(this.#hwm_s)
  }

  #commitRange(from_s: number, to_s: number, sampled: boolean, baseline: BaselineSource | undefined): void {
    const sampled_s = sampled ? to_s : this.#sampled_s
    if (sampled) {
      for (const object of this.#objects) this.#noteSeen(object, to_s)
      this.#retire(to_s)
    }
    this.databases.environment.transactionSync(() => {
      for (const object of this.#dirty) this.databases.catalog.putSync(makeKey(0, object.id), encodeObject(object))
      if (this.#dirty.size > 0) this.databases.meta.putSync(META_NEXT_ID, makeKey(0, this.#nextId))
      for (let second = from_s; second < Math.min(to_s, this.ring.written()); second++) {
        this.#tail.storeSecond(second, this.#objects)
      }
      for (const [index] of TIERS.entries()) this.#storeDueChunks(index, from_s, to_s)
      if (baseline !== undefined) this.#tail.storeBaseline(to_s, this.#objects, baseline)
      this.#tail.trim(to_s - TAIL_KEPT_S)
      this.#trimTier(to_s % TIERS.length, to_s)
      this.databases.meta.putSync(META_PROGRESS, makeKey(to_s, sampled_s))
    })
    this.#dirty.clear()
    this.#hwm_s = to_s
    this.#sampled_s = sampled_s
  }

  #noteSeen(object: ArchiveObject, to_s: number): void {
    if (object.slot >= 0 && !Number.isNaN(this.ring.get(object.slot, to_s - 1, 0))) object.seen_s = to_s
    // An object of an earlier run that has not come back counts from now on.
    else if (object.seen_s === Number.POSITIVE_INFINITY) object.seen_s = to_s
  }

  /** Marks objects that were not seen for long as gone and frees their place in the ring. Once a minute is often enough. */
  #retire(to_s: number): void {
    if (to_s % 60 !== 0) return
    for (const object of this.#objects) {
      if (to_s - object.seen_s < OBJECT_GONE_AFTER_S || object.died_s !== undefined) continue
      object.died_s = object.seen_s
      this.#dirty.add(object)
      if (object.slot < 0) continue
      this.#freeSlots.push(object.slot)
      object.slot = -1
      this.#changes.removed.push(object.id)
    }
  }

  /**
   * The chunks of one tier whose end lies in (from, to]. In order of time and object, so that LMDB appends. After a gap longer
   * than a chunk each object has one chunk with data at most: the one that was open.
   */
  #storeDueChunks(tierIndex: number, from_s: number, to_s: number): void {
    const tier = tierAt(tierIndex)
    const last = Math.min(to_s, from_s + span_s(tier))
    const first = from_s - (from_s % tier.step_s) + tier.step_s
    for (let end = first; end <= last; end += tier.step_s) {
      for (const object of this.#objects) {
        if (object.seen_s <= end - span_s(tier)) continue
        if (chunkEndAtOrBefore(tier, object.id, end) !== end) continue
        const bytes = this.#makeChunk(tierIndex, object, end, from_s)
        if (bytes !== undefined)
          this.databases.tiers[tierIndex]?.putSync(makeKey(end, object.id), bytes, { append: true })
      }
    }
  }

  /** `undefined` when the chunk would hold nothing known. */
  #makeChunk(tierIndex: number, object: ArchiveObject, end_s: number, flushed_s: number): Uint8Array | undefined {
    const tier = tierAt(tierIndex)
    const start = end_s - span_s(tier)
    if (tierIndex === 0) {
      this.#reader.readBase(object, start, end_s, flushed_s, this.#values)
      return this.#values.every(Number.isNaN)
        ? undefined
        : encodeBaseChunk(this.#sink, start, this.#values, tier.points)
    }
    this.#reader.readCoarse(tierIndex, object, start, end_s, flushed_s, this.#points)
    return this.#points.isEmpty() ? undefined : encodeCoarseChunk(this.#sink, start, this.#points)
  }

  /** Removes chunks that lie wholly before the nominal ring, a bounded number per transaction, one tier per second. */
  #trimTier(tierIndex: number, hwm_s: number): void {
    const database = this.databases.tiers[tierIndex]
    if (database === undefined) return
    const end = makeKey(coverageStart(tierAt(tierIndex), hwm_s) + 1, 0)
    removeRange(database, { end, limit: TRIM_KEYS_MAX })
  }

  /**
   * The clock was set back by more than can be slewed: throws away what lies at or after `to_s`, so that no second has two
   * values. What was not yet in a chunk before `to_s` is kept in the ring and the tail.
   */
  stepBack(to_s: number): void {
    const points = tierAt(0).points
    const kept = new Map<ArchiveObject, Float64Array>()
    for (const object of this.#objects) {
      object.seen_s = Math.min(object.seen_s, to_s)
      if (object.slot < 0) continue
      const values = new Float64Array(points * METRIC_COUNT)
      this.#reader.readBase(object, to_s - points, to_s, this.#hwm_s, values)
      kept.set(object, values)
    }
    this.ring.reset(to_s - points)
    for (let i = 0; i < points; i++) {
      const second = to_s - points + i
      this.ring.beginSecond(second)
      for (const [object, values] of kept) {
        for (let metric = 0; metric < METRIC_COUNT; metric++) {
          this.ring.set(object.slot, second, metric, values[metric * points + i] ?? Number.NaN)
        }
      }
    }
    const { environment, tail, baseline, tiers, meta } = this.databases
    environment.transactionSync(() => {
      for (const tier of tiers) removeRange(tier, { start: makeKey(to_s + 1, 0) })
      removeRange(tail, {})
      removeRange(baseline, {})
      for (let i = 0; i < points; i++) this.#tail.storeSecond(to_s - points + i, this.#objects)
      meta.putSync(META_PROGRESS, makeKey(to_s, to_s))
    })
    this.#hwm_s = to_s
    this.#sampled_s = to_s
    this.ring.publish(to_s)
  }

  async close(): Promise<void> {
    await this.databases.environment.close()
  }
}
