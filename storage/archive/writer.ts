import { RING_SERVED_S, TAIL_KEPT_S, TRIM_KEYS_MAX } from '../limits.ts'
import { removeRange } from '../env.ts'
import { ByteSink } from './bytes.ts'
import { type ArchiveObject, encodeObject, type ObjectKind } from './catalog.ts'
import { encodeBaseChunk, encodeCoarseChunk } from './chunk.ts'
import { Points } from './consolidate.ts'
import { type ArchiveDatabases, chunkLookup, META_NEXT_ID, META_PROGRESS, openArchiveDatabases } from './databases.ts'
import { chunkEndAtOrBefore, coverageStart, makeKey } from './layout.ts'
import { recover } from './recover.ts'
import { ObjectRegistry } from './registry.ts'
import { RingWriter } from './ring.ts'
import { type BaselineSource, TailWriter } from './tail-writer.ts'
import { METRIC_COUNT, span_s, TIERS, tierAt } from './tiers.ts'
import { TierReader } from './tier-reader.ts'

/** Seconds written in one LMDB transaction at most; a longer gap takes several, or the short cut below. */
const SECONDS_PER_COMMIT = 10

/**
 * The one writer of the archive. The caller fills the ring (`beginSecond`, `set`) and calls `commit`: one LMDB transaction
 * with the tail rows, the chunks that are due in every tier, the trimming and the high-water mark.
 */
export class ArchiveWriter {
  readonly ring: RingWriter
  readonly databases: ArchiveDatabases
  readonly registry: ObjectRegistry
  #hwm_s: number
  #sampled_s: number
  readonly #reader: TierReader
  readonly #tail: TailWriter
  readonly #sink = new ByteSink()
  readonly #values = new Float64Array(METRIC_COUNT * tierAt(0).points)
  readonly #points = new Points()

  /** Opens or makes the archive and rebuilds the ring from the crash tail. */
  constructor(directory: string, now_s: number) {
    this.databases = openArchiveDatabases(directory)
    this.ring = new RingWriter()
    this.#reader = new TierReader(chunkLookup(this.databases), this.ring, 'stored')
    this.#tail = new TailWriter(this.databases, this.ring)
    const found = recover(this.databases, now_s)
    this.#hwm_s = found.hwm_s
    this.#sampled_s = found.sampled_s
    this.registry = new ObjectRegistry(found.objects, found.nextId, this.ring)
    this.ring.reset(found.ringOldest_s)
    for (const object of found.objects) if (found.inTail.has(object.id)) this.registry.place(object)
    for (let second = found.ringOldest_s; second < found.hwm_s; second++) {
      this.ring.beginSecond(second)
      this.#tail.restoreSecond(second, this.registry.objects)
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

  objects(): readonly ArchiveObject[] {
    return this.registry.objects
  }

  /** The object of this name with a place in the ring, made if need be. `undefined` beyond the cap. */
  ensure(kind: ObjectKind, name: string, backend: string): ArchiveObject | undefined {
    return this.registry.ensure(kind, name, backend, this.#hwm_s)
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
    const written_s = Math.min(to_s, this.ring.written())
    // After a long failure to write, the oldest rows are no longer in the ring.
    const first_s = Math.max(from_s, this.ring.oldest())
    this.registry.noteSeen(first_s, written_s)
    // Once a minute is often enough to look for objects that are gone.
    if (sampled && to_s % 60 === 0) this.registry.retire(to_s)
    const { objects, unsaved, nextId } = this.registry
    this.databases.environment.transactionSync(() => {
      // First, so that the pages it frees are written again by what follows instead of once as garbage.
      this.#tail.trim(to_s - TAIL_KEPT_S)
      this.#trimTier(to_s % TIERS.length, to_s)
      for (const object of unsaved) this.databases.catalog.putSync(makeKey(0, object.id), encodeObject(object))
      if (unsaved.size > 0) this.databases.meta.putSync(META_NEXT_ID, makeKey(0, nextId))
      for (let second = first_s; second < written_s; second++) this.#tail.storeSecond(second, objects)
      for (const [index] of TIERS.entries()) this.#storeDueChunks(index, from_s, to_s)
      if (baseline !== undefined) this.#tail.storeBaseline(to_s, objects, baseline)
      this.databases.meta.putSync(META_PROGRESS, makeKey(to_s, sampled_s))
    })
    unsaved.clear()
    this.#hwm_s = to_s
    this.#sampled_s = sampled_s
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
      for (const object of this.registry.objects) {
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
    for (const object of this.registry.objects) {
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
      for (let i = 0; i < points; i++) this.#tail.storeSecond(to_s - points + i, this.registry.objects)
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
