import { METRIC_COUNT } from './tiers.ts'

/**
 * Buckets of several metrics as (sum, minimum, maximum, count), where count is the number of known seconds. There are
 * no averages: sums are associative, so a coarse bucket is the same from whichever finer tier it is computed.
 * Column-major: bucket `i` of metric `m` is at `m * n + i`.
 */
export class Points {
  n = 0
  /** Number of metrics, counted from the first. */
  readonly columns: number
  count = new Float64Array(0)
  sum = new Float64Array(0)
  minimum = new Float64Array(0)
  maximum = new Float64Array(0)

  constructor(columns = METRIC_COUNT) {
    this.columns = columns
  }

  /** Makes room for `n` buckets per metric, all unknown. */
  reset(n: number): void {
    this.n = n
    const size = n * this.columns
    if (this.count.length < size) {
      this.count = new Float64Array(size)
      this.sum = new Float64Array(size)
      this.minimum = new Float64Array(size)
      this.maximum = new Float64Array(size)
      return
    }
    this.count.fill(0, 0, size)
    this.sum.fill(0, 0, size)
    this.minimum.fill(0, 0, size)
    this.maximum.fill(0, 0, size)
  }

  add(at: number, count: number, sum: number, minimum: number, maximum: number): void {
    const before = this.count[at] ?? 0
    this.count[at] = before + count
    this.sum[at] = (this.sum[at] ?? 0) + sum
    if (before === 0 || minimum < (this.minimum[at] ?? 0)) this.minimum[at] = minimum
    if (before === 0 || maximum > (this.maximum[at] ?? 0)) this.maximum[at] = maximum
  }

  isEmpty(): boolean {
    const size = this.n * this.columns
    for (let i = 0; i < size; i++) if (this.count[i] !== 0) return false
    return true
  }
}

/** Adds `n` base values per metric (NaN is unknown) to the buckets of `step` seconds that start at bucket `first`. */
export function consolidateBase(values: Float64Array, n: number, step_s: number, out: Points, first: number): void {
  for (let metric = 0; metric < out.columns; metric++) {
    for (let i = 0; i < n; i++) {
      const value = values[metric * n + i] ?? Number.NaN
      if (value === value) out.add(metric * out.n + first + Math.floor(i / step_s), 1, value, value, value)
    }
  }
}

/** Adds finer buckets to coarser ones, `ratio` to one. */
export function consolidatePoints(finer: Points, ratio: number, out: Points, first: number): void {
  for (let metric = 0; metric < out.columns; metric++) {
    for (let i = 0; i < finer.n; i++) {
      const from = metric * finer.n + i
      const count = finer.count[from] ?? 0
      if (count === 0) continue
      const to = metric * out.n + first + Math.floor(i / ratio)
      out.add(to, count, finer.sum[from] ?? 0, finer.minimum[from] ?? 0, finer.maximum[from] ?? 0)
    }
  }
}
