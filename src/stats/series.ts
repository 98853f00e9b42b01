import { Points } from '../../storage/archive/consolidate.ts'
import { CORE_COUNT, METRIC_COUNT } from '../../storage/archive/tiers.ts'
import type { ReadableObject } from '../../storage/archive/tier-reader.ts'
import type { JsonBuffer } from '../base/json-buffer.ts'
import type { Consolidation } from '../model/metrics.ts'

/** The source of a window: ArchiveReader in the daemon. */
export interface WindowReader {
  /** Length of one stored value in seconds; 1 when absent. */
  readonly step_s?: number
  /**
   * Both return false when the newest seconds were overwritten while they were read. They read the first `columns`
   * metrics, or as many as `out` has.
   */
  readBase(
    object: ReadableObject,
    first_s: number,
    end_s: number,
    out: Float64Array,
    columns: number,
  ): boolean | undefined
  readCoarse(tier: number, object: ReadableObject, first_s: number, end_s: number, out: Points): boolean | undefined
}

export interface SeriesWindow {
  readonly tier: number
  readonly step_s: number
  readonly first_s: number
  readonly end_s: number
}

/** Whether the core metrics are enough, or all are needed. The others are not read. */
export type Columns = typeof CORE_COUNT | typeof METRIC_COUNT

/**
 * The values of one object in one window. Increments are stored per second, so the average of a bucket per second is
 * sum / count; minimum and maximum are those of single seconds. The sum is over the known seconds.
 */
export class Series {
  #n = 0
  #values = new Float64Array(0)
  readonly #points: Readonly<Record<Columns, Points>> = {
    [CORE_COUNT]: new Points(CORE_COUNT),
    [METRIC_COUNT]: new Points(METRIC_COUNT),
  }

  /**
   * `object` is `undefined` when the archive has never seen it: all values are unknown. Returns false when the read was
   * not in one piece.
   */
  load(
    reader: WindowReader,
    window: SeriesWindow,
    consolidation: Consolidation,
    object: ReadableObject | undefined,
    columns: Columns = METRIC_COUNT,
  ): boolean {
    const { tier, step_s, first_s, end_s } = window
    this.#n = (end_s - first_s) / step_s
    const size = this.#n * columns
    if (this.#values.length < size) this.#values = new Float64Array(size)
    if (object === undefined || this.#n === 0) {
      this.#values.fill(Number.NaN, 0, size)
      return true
    }
    const points = this.#points[columns]
    const isComplete =
      tier === 0
        ? reader.readBase(object, first_s, end_s, this.#values, columns)
        : reader.readCoarse(tier, object, first_s, end_s, points)
    if (tier > 0) this.#consolidate(points, size, consolidation)
    const known_s = reader.step_s ?? 1
    if (consolidation === 'sum' && known_s !== 1)
      for (let i = 0; i < size; i++) this.#values[i] = (this.#values[i] ?? Number.NaN) * known_s
    return isComplete !== false
  }

  get length(): number {
    return this.#n
  }

  #consolidate({ count, sum, minimum, maximum }: Points, size: number, consolidation: Consolidation): void {
    const values = this.#values
    for (let i = 0; i < size; i++) {
      const known = count[i] ?? 0
      if (known === 0) values[i] = Number.NaN
      else if (consolidation === 'average') values[i] = (sum[i] ?? 0) / known
      else if (consolidation === 'sum') values[i] = sum[i] ?? 0
      else values[i] = (consolidation === 'minimum' ? minimum[i] : maximum[i]) ?? Number.NaN
    }
  }

  /** NaN when unknown. */
  valueAt(metric: number, index: number): number {
    return this.#values[metric * this.#n + index] ?? Number.NaN
  }

  /** Writes the values of one metric, comma-separated, unknown ones as null. */
  writeJson(metric: number, out: JsonBuffer): void {
    if (this.#n === 0) return
    out.list(this.#values, metric * this.#n, this.#n, new Uint16Array(this.#n + 1), 0)
    out.back()
  }

  /** Writes `count` values starting at place `from`, each followed by a comma; their starts are stored in `marks`. */
  writeMarked(metric: number, from: number, count: number, out: JsonBuffer, marks: Uint16Array, mark: number): void {
    out.list(this.#values, metric * this.#n + from, count, marks, mark)
  }
}
