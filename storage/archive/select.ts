import { ceilTo, coverageStart, floorTo } from './layout.ts'
import type { Tier } from './tiers.ts'

/**
 * Chooses the tier that answers a window, by rrdtool's rule. Among the tiers that cover the start, the one whose step
 * is nearest to the wanted resolution, the finer on a tie; if none covers it, the tier with the longest overlap, then
 * the nearest step. The end of the window, the consolidation and the metrics do not matter.
 */
export function selectTier(tiers: readonly Tier[], hwm_s: number, start_s: number, resolution_s = 1): number {
  let full = -1
  let fullDistance = Number.POSITIVE_INFINITY
  let part = 0
  let partStart = Number.POSITIVE_INFINITY
  let partDistance = Number.POSITIVE_INFINITY
  for (const [index, tier] of tiers.entries()) {
    const distance = Math.abs(tier.step_s - resolution_s)
    const covered = coverageStart(tier, hwm_s)
    if (covered <= start_s) {
      if (distance < fullDistance) [full, fullDistance] = [index, distance]
    } else if (covered < partStart || (covered === partStart && distance < partDistance)) {
      ;[part, partStart, partDistance] = [index, covered, distance]
    }
  }
  return full >= 0 ? full : part
}

export interface ServedWindow {
  readonly first_s: number
  readonly end_s: number
}

/**
 * The closed buckets that intersect [start, end); an empty window (`start = end`) is the one bucket that contains it.
 */
export function servedWindow(step_s: number, hwm_s: number, start_s: number, end_s: number): ServedWindow {
  const first = floorTo(start_s, step_s)
  const wanted = Math.max(ceilTo(end_s, step_s), first + step_s)
  const end = Math.min(wanted, floorTo(hwm_s, step_s))
  return { first_s: first, end_s: Math.max(first, end) }
}
