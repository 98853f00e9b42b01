import { decodeBaseChunk, decodeCoarseChunk } from './chunk.ts'
import { consolidateBase, consolidatePoints, Points } from './consolidate.ts'
import { chunkEndAfter, chunkEndAtOrBefore } from './layout.ts'
import type { RingView } from './ring.ts'
import { METRIC_COUNT, span_s, type Tier, tierAt } from './tiers.ts'

/** Returns the value of a stored chunk, perhaps in a shared buffer that the next call overwrites. */
export type ChunkLookup = (tier: number, end_s: number, objectId: number) => Uint8Array | undefined

export interface ReadableObject {
  readonly id: number
  /** Slot in the ring, or -1. */
  readonly slot: number
}

/**
 * Reads any window of one object from any tier. Seconds that are not yet in a chunk of that tier are computed from the
 * next finer one, down to the ring. This is exact, because sums, minima, maxima and counts are associative. The writer
 * makes its chunks with the same code, so a bucket is the same however it is read, and open buckets need no memory.
 */
export class TierReader {
  readonly #table: readonly Tier[]
  readonly #chunk: ChunkLookup
  readonly #ring: RingView
  readonly #preferred: 'ring' | 'stored'
  readonly #columns: number
  readonly #chunkValues: Float64Array
  readonly #chunkPoints: Points
  /** One scratch per tier: computing a tier uses only those of the finer tiers. */
  readonly #finer: readonly Points[]
  #base = new Float64Array(0)

  /**
   * Where ring and chunks hold the same seconds, `preferred` is read. Readers prefer the ring, which costs no disk
   * access. Its rows lie far apart in memory, which slows a writer that reads a thousand objects in one second. Only
   * the first `columns` metrics are read.
   */
  constructor(
    table: readonly Tier[],
    chunk: ChunkLookup,
    ring: RingView,
    preferred: 'ring' | 'stored' = 'ring',
    columns = METRIC_COUNT,
  ) {
    this.#table = table
    this.#columns = columns
    this.#finer = table.map(() => new Points(columns))
    this.#chunkPoints = new Points(columns)
    this.#chunkValues = new Float64Array(columns * this.#tierAt(0).points)
    this.#chunk = chunk
    this.#ring = ring
    this.#preferred = preferred
  }

  #tierAt(index: number): Tier {
    return tierAt(index, this.#table)
  }

  /**
   * Reads base values of [from, to), column-major with `to - from` values per metric, NaN for unknown. Chunks that end
   * after `flushed_s` are not stored yet. Returns false if the ring was overwritten during the read: the caller must
   * retry.
   */
  readBase(object: ReadableObject, from_s: number, to_s: number, flushed_s: number, out: Float64Array): boolean {
    const n = to_s - from_s
    out.fill(Number.NaN, 0, n * this.#columns)
    const tier = this.#tierAt(0)
    const stored_s = chunkEndAtOrBefore(tier, object.id, flushed_s)
    const ring_s = this.#ringFrom(object, stored_s)
    const until = Math.min(to_s, stored_s, ring_s)
    const first = from_s < until ? chunkEndAfter(tier, object.id, from_s) : Number.POSITIVE_INFINITY
    for (let end = first; end - span_s(tier) < until; end += span_s(tier)) {
      this.#copyBaseChunk(object.id, end, from_s, until, n, out)
    }
    const from = Math.max(from_s, ring_s)
    return from >= to_s || this.#ring.copy(object.slot, object.id, from, to_s, out, from - from_s, n, this.#columns)
  }

  /** Returns the second from which on the ring is read. An object without a slot has only its chunks. */
  #ringFrom(object: ReadableObject, stored_s: number): number {
    if (object.slot < 0) return Number.POSITIVE_INFINITY
    return this.#preferred === 'stored' ? Math.max(stored_s, this.#ring.oldest()) : this.#ring.oldest()
  }

  #copyBaseChunk(objectId: number, end_s: number, from_s: number, until_s: number, n: number, out: Float64Array): void {
    const bytes = this.#chunk(0, end_s, objectId)
    if (bytes === undefined || bytes.length === 0) return
    const points = readable(() => decodeBaseChunk(bytes, this.#chunkValues, this.#columns))
    if (points === undefined) return
    const start = end_s - points
    const first = Math.max(start, from_s)
    const last = Math.min(end_s, until_s)
    for (let metric = 0; metric < this.#columns; metric++) {
      const source = metric * points - start
      const target = metric * n - from_s
      for (let second = first; second < last; second++) {
        out[target + second] = this.#chunkValues[source + second] ?? Number.NaN
      }
    }
  }

  /** Reads buckets of [from, to) of a coarse tier (index 1 and up); both ends are multiples of its step. */
  readCoarse(
    tierIndex: number,
    object: ReadableObject,
    from_s: number,
    to_s: number,
    flushed_s: number,
    out: Points,
  ): boolean {
    const tier = this.#tierAt(tierIndex)
    out.reset(Math.max(0, (to_s - from_s) / tier.step_s))
    // If the ring holds the whole window, it is computed from there without the disk.
    if (this.#preferred === 'ring' && object.slot >= 0 && from_s >= this.#ring.oldest()) {
      return this.consolidate(0, tier.step_s, object, from_s, to_s, flushed_s, out, 0)
    }
    const stored_s = chunkEndAtOrBefore(tier, object.id, flushed_s)
    const until = Math.min(to_s, stored_s)
    const next = from_s < until ? chunkEndAfter(tier, object.id, from_s) : Number.POSITIVE_INFINITY
    for (let end = next; end - span_s(tier) < until; end += span_s(tier)) {
      const bytes = this.#chunk(tierIndex, end, object.id)
      if (bytes !== undefined && bytes.length > 0) this.#copyCoarseChunk(bytes, tier.step_s, end, from_s, until, out)
    }
    const open = Math.max(from_s, stored_s)
    if (open >= to_s) return true
    const first = (open - from_s) / tier.step_s
    return this.consolidate(tierIndex - 1, tier.step_s, object, open, to_s, flushed_s, out, first)
  }

  /**
   * Adds the buckets of `step_s` seconds in [from, to), computed from the finer tier `index`, to `out`, from bucket
   * `first` on.
   */
  consolidate(
    index: number,
    step_s: number,
    object: ReadableObject,
    from_s: number,
    to_s: number,
    flushed_s: number,
    out: Points,
    first: number,
  ): boolean {
    if (index > 0) {
      const finer = this.#finer[index] ?? new Points(this.#columns)
      const isComplete = this.readCoarse(index, object, from_s, to_s, flushed_s, finer)
      consolidatePoints(finer, step_s / this.#tierAt(index).step_s, out, first)
      return isComplete
    }
    const n = to_s - from_s
    if (this.#base.length < n * this.#columns) this.#base = new Float64Array(n * this.#columns)
    const isComplete = this.readBase(object, from_s, to_s, flushed_s, this.#base)
    consolidateBase(this.#base, n, step_s, out, first)
    return isComplete
  }

  #copyCoarseChunk(
    bytes: Uint8Array,
    step_s: number,
    end_s: number,
    from_s: number,
    until_s: number,
    out: Points,
  ): void {
    const points = this.#chunkPoints
    if (readable(() => decodeCoarseChunk(bytes, points)) === undefined) return
    const start = end_s - points.n * step_s
    const first = Math.max(start, from_s)
    const last = Math.min(end_s, until_s)
    for (let metric = 0; metric < this.#columns; metric++) {
      let source = metric * points.n + (first - start) / step_s
      let target = metric * out.n + (first - from_s) / step_s
      for (let bucket = first; bucket < last; bucket += step_s) {
        out.count[target] = points.count[source] ?? 0
        out.sum[target] = points.sum[source] ?? 0
        out.minimum[target] = points.minimum[source] ?? 0
        out.maximum[target] = points.maximum[source] ?? 0
        source++
        target++
      }
    }
  }
}

/** A chunk without a seal may hold anything. If it cannot be decoded, its contents are unknown. */
function readable<T>(decode: () => T): T | undefined {
  try {
    return decode()
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
