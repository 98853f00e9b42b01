import { Points } from '../../storage/archive/consolidate.ts'
import { METRIC_COUNT } from '../../storage/archive/tiers.ts'
import type { ReadableObject } from '../../storage/archive/tier-reader.ts'
import type { JsonBuffer } from './json-buffer.ts'
import type { Consolidation } from '../model/metrics.ts'

/** What a window is read from. ArchiveReader in the daemon. */
export interface WindowReader {
  /** Both answer false when the newest seconds were overwritten while they were read. */
  readBase(object: ReadableObject, first_s: number, end_s: number, out: Float64Array): boolean | undefined
  readCoarse(tier: number, object: ReadableObject, first_s: number, end_s: number, out: Points): boolean | undefined
}

export interface SeriesWindow {
  readonly tier: number
  readonly step_s: number
  readonly first_s: number
  readonly end_s: number
}

const COMMA = 0x2c
const NULL = new Uint8Array([0x6e, 0x75, 0x6c, 0x6c])

/**
 * The values of one object in one window. Increments are stored per second, so the value of a bucket per second is
 * sum / count for the average; minimum and maximum are those of single seconds.
 */
export class Series {
  #n = 0
  #values = new Float64Array(0)
  readonly #points = new Points()

  /** `object` is `undefined` when the archive has never seen it: all unknown. Answers false when the read was not in one piece. */
  load(
    reader: WindowReader,
    window: SeriesWindow,
    consolidation: Consolidation,
    object: ReadableObject | undefined,
  ): boolean {
    const { tier, step_s, first_s, end_s } = window
    this.#n = (end_s - first_s) / step_s
    const size = this.#n * METRIC_COUNT
    if (this.#values.length < size) this.#values = new Float64Array(size)
    if (object === undefined || this.#n === 0) {
      this.#values.fill(Number.NaN, 0, size)
      return true
    }
    if (tier === 0) return reader.readBase(object, first_s, end_s, this.#values) !== false
    const isComplete = reader.readCoarse(tier, object, first_s, end_s, this.#points)
    this.#consolidate(size, consolidation)
    return isComplete !== false
  }

  get length(): number {
    return this.#n
  }

  #consolidate(size: number, consolidation: Consolidation): void {
    const { count, sum, minimum, maximum } = this.#points
    const values = this.#values
    for (let i = 0; i < size; i++) {
      const known = count[i] ?? 0
      if (known === 0) values[i] = Number.NaN
      else if (consolidation === 'average') values[i] = (sum[i] ?? 0) / known
      else values[i] = (consolidation === 'minimum' ? minimum[i] : maximum[i]) ?? Number.NaN
    }
  }

  /** NaN when unknown. */
  valueAt(metric: number, index: number): number {
    return this.#values[metric * this.#n + index] ?? Number.NaN
  }

  /** The values of one metric, comma-separated, unknown as null. */
  writeJson(metric: number, out: JsonBuffer): void {
    for (let i = 0; i < this.#n; i++) {
      if (i > 0) out.byte(COMMA)
      this.writeValue(metric, i, out)
    }
  }

  writeValue(metric: number, index: number, out: JsonBuffer): void {
    const value = this.#values[metric * this.#n + index] ?? Number.NaN
    if (value === value) out.number(value)
    else out.raw(NULL)
  }
}
