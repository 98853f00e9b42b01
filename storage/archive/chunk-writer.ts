import { ByteSink } from './bytes.ts'
import type { ArchiveObject } from './catalog.ts'
import { encodeBaseChunk, encodeCoarseChunk } from './chunk.ts'
import { Points } from './consolidate.ts'
import { chunkEndAtOrBefore, makeKey } from './layout.ts'
import type { SealedRows } from './sealed-rows.ts'
import type { ReadableObject } from './tier-reader.ts'
import { METRIC_COUNT, span_s, type Tier } from './tiers.ts'

/** Source of the values of a chunk. */
export interface ChunkSource {
  /** Values per second of [start, end), column-major. */
  base(object: ReadableObject, start_s: number, end_s: number, out: Float64Array): void
  /** Buckets of the written tier in [start, end). */
  coarse(object: ReadableObject, start_s: number, end_s: number, out: Points): void
}

/** Writes the chunks of one tier sorted by time and object, so that LMDB appends. */
export class ChunkWriter {
  readonly #sink = new ByteSink()
  #values = new Float64Array(0)
  readonly #points = new Points()

  /** Stores the chunks that end in (from, to]; both may be any second. Returns how many were stored. */
  storeDue(
    database: SealedRows,
    tier: Tier,
    objects: readonly ArchiveObject[],
    source: ChunkSource,
    from_s: number,
    to_s: number,
  ): number {
    let stored = 0
    const first = from_s - (from_s % tier.step_s) + tier.step_s
    for (let end = first; end <= to_s; end += tier.step_s) {
      for (const object of objects) {
        if (object.seen_s <= end - span_s(tier)) continue
        if (chunkEndAtOrBefore(tier, object.id, end) !== end) continue
        const bytes = this.#make(tier, object, end, source)
        if (bytes === undefined) continue
        database.putSync(makeKey(end, object.id), bytes, { append: true })
        stored++
      }
    }
    return stored
  }

  /** Returns `undefined` when the chunk would hold no known value. */
  #make(tier: Tier, object: ReadableObject, end_s: number, source: ChunkSource): Uint8Array | undefined {
    const start = end_s - span_s(tier)
    if (tier.step_s === 1) {
      if (this.#values.length < METRIC_COUNT * tier.points) this.#values = new Float64Array(METRIC_COUNT * tier.points)
      source.base(object, start, end_s, this.#values)
      return this.#values.every(Number.isNaN)
        ? undefined
        : encodeBaseChunk(this.#sink, start, this.#values, tier.points)
    }
    source.coarse(object, start, end_s, this.#points)
    return this.#points.isEmpty() ? undefined : encodeCoarseChunk(this.#sink, start, this.#points)
  }
}
