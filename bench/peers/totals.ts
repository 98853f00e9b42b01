import { METRIC_NAMES, type Totals } from './data-set.ts'

/** Sums up an answer, value by value. */
export class TotalsBuilder implements Totals {
  readonly counts: number[] = METRIC_NAMES.map(() => 0)
  readonly sums: number[] = METRIC_NAMES.map(() => 0)

  /** `metric` is an index in METRIC_NAMES; an unknown value is null or NaN. */
  add(metric: number, value: number | null): void {
    if (value === null || Number.isNaN(value)) return
    if (!(metric in this.sums)) throw new RangeError(`there is no metric ${metric}`)
    this.counts[metric] = (this.counts[metric] ?? 0) + 1
    this.sums[metric] = (this.sums[metric] ?? 0) + value
  }
}
