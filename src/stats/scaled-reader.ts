import type { ArchiveReader } from '../../storage/archive/reader.ts'
import { isGauge, METRIC_COUNT, type Tier } from '../../storage/archive/tiers.ts'
import type { HistoryReader } from './history.ts'

type Read = Pick<ArchiveReader, 'hwm_s' | 'tiers' | 'readBase' | 'readCoarse'>

/**
 * Reads an archive whose seconds are several real ones: times are stretched, and counts of one of its seconds become
 * counts per real second. Gauges stay unchanged.
 */
export function scaledReader(reader: Read, step_s: number): HistoryReader {
  if (step_s === 1) return reader
  return {
    step_s,
    hwm_s: () => reader.hwm_s() * step_s,
    tiers: () => reader.tiers().map((tier) => stretch(tier, step_s)),
    readBase(object, first_s, end_s, out, columns) {
      const isWhole = reader.readBase(object, first_s / step_s, end_s / step_s, out, columns)
      perSecond(out, (end_s - first_s) / step_s, step_s, columns)
      return isWhole
    },
    readCoarse(tier, object, first_s, end_s, out) {
      const isWhole = reader.readCoarse(tier, object, first_s / step_s, end_s / step_s, out)
      for (const column of [out.sum, out.minimum, out.maximum]) perSecond(column, out.n, step_s, out.columns)
      return isWhole
    },
  }
}

/** Converts a tier to real seconds. */
export function stretch({ floor_s = 0, ...tier }: Tier, step_s: number): Tier {
  return { ...tier, step_s: tier.step_s * step_s, floor_s: floor_s * step_s }
}

/** `n` values for each metric. */
function perSecond(values: Float64Array, n: number, step_s: number, columns: number = METRIC_COUNT): void {
  for (let metric = 0; metric < columns; metric++) {
    if (isGauge(metric)) continue
    for (let at = metric * n; at < (metric + 1) * n; at++) values[at] = (values[at] ?? 0) / step_s
  }
}
