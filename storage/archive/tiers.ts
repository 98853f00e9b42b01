/** A tier of the archive. `rows * step_s` is the retention; a chunk of `points` buckets is written at once. */
export interface Tier {
  readonly name: string
  readonly step_s: number
  readonly rows: number
  readonly points: number
  /** Before this second the tier is known to be incomplete. */
  readonly floor_s?: number
}

const HOUR = 3_600
const DAY = 24 * HOUR

export const TIERS = [
  { name: 't0', step_s: 1, rows: 2 * HOUR, points: 120 },
  { name: 't1', step_s: 10, rows: DAY / 10, points: 30 },
  { name: 't2', step_s: 60, rows: (8 * DAY) / 60, points: 30 },
  { name: 't3', step_s: 300, rows: (40 * DAY) / 300, points: 24 },
  { name: 't4', step_s: HOUR, rows: (730 * DAY) / HOUR, points: 24 },
] as const satisfies readonly Tier[]

/**
 * For a source that counts every two seconds: such an archive's second is two real seconds, and so are the steps here.
 */
export const TWO_SECOND_TIERS = [
  { name: 't0', step_s: 1, rows: HOUR, points: 120 },
  { name: 't1', step_s: 5, rows: DAY / 10, points: 30 },
  { name: 't2', step_s: 30, rows: (8 * DAY) / 60, points: 30 },
  { name: 't3', step_s: 150, rows: (40 * DAY) / 300, points: 24 },
  { name: 't4', step_s: HOUR / 2, rows: (730 * DAY) / HOUR, points: 24 },
] as const satisfies readonly Tier[]

/**
 * Current sessions; the increments of sessions, bytes in, bytes out, requests, answers 1xx to 5xx and errors; then the
 * queue and the times of answers, of connecting and in all. Columns are only ever added at the end: older data has the
 * first ones.
 */
export const METRIC_COUNT = 15
/** The first metrics, which every object has: the default of queries. */
export const CORE_COUNT = 4
/** The metrics from 1 on that are increments. The others are gauges: sampled, never differenced or spread. */
export const COUNTER_COUNT = 10

export function isGauge(metric: number): boolean {
  return metric === 0 || metric > COUNTER_COUNT
}

export function span_s(tier: Tier): number {
  return tier.step_s * tier.points
}

export function tierAt(index: number, tiers: readonly Tier[] = TIERS): Tier {
  const tier = tiers[index]
  if (tier === undefined) throw new RangeError(`there is no tier ${index}`)
  return tier
}
