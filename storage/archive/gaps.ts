import { GAPS_MAX, RING_SERVED_S } from '../limits.ts'
import { ceilTo, floorTo, keyFirst, keySecond, makeKey, writeKey } from './layout.ts'
import type { SealedRows } from './sealed-rows.ts'
import type { Tier } from './tiers.ts'

const META_GAPS = makeKey(0, 5)
const ENTRY_BYTES = 8

/** Seconds in which nothing was recorded: the daemon did not run, or the clock was set forward. */
export interface Gap {
  readonly from_s: number
  readonly to_s: number
}

/** Sorted from old to new. Empty for an archive that never had a gap, or whose record of them is damaged. */
export function readGaps(meta: Pick<SealedRows, 'get'>): readonly Gap[] {
  const bytes = meta.get(META_GAPS) ?? new Uint8Array()
  return Array.from({ length: Math.floor(bytes.length / ENTRY_BYTES) }, (_, index) => {
    const entry = bytes.subarray(index * ENTRY_BYTES)
    return { from_s: keyFirst(entry), to_s: keySecond(entry) }
  })
}

/** Inside a transaction. */
export function writeGaps(meta: Pick<SealedRows, 'putSync'>, gaps: readonly Gap[]): void {
  const bytes = new Uint8Array(gaps.length * ENTRY_BYTES)
  for (const [index, { from_s, to_s }] of gaps.entries()) {
    writeKey(bytes.subarray(index * ENTRY_BYTES), from_s, to_s)
  }
  meta.putSync(META_GAPS, bytes)
}

/** Appends a gap. Beyond the maximum, the shortest gap is dropped and counts as time that passed. */
export function withGap(gaps: readonly Gap[], gap: Gap): readonly Gap[] {
  const all = [...gaps, gap]
  if (all.length <= GAPS_MAX) return all
  const shortest = Math.min(...all.map(length_s))
  const first = all.findIndex((one) => length_s(one) === shortest)
  return all.filter((_, index) => index !== first)
}

/** Adds the gaps that only the crash tail shows, because LMDB could not write when they passed. */
export function gapsOfTail(
  gaps: readonly Gap[],
  records: readonly { readonly to_s: number }[],
  stored_s: number,
): readonly Gap[] {
  let all = gaps
  for (const [index, { to_s }] of records.entries()) {
    const from_s = records[index - 1]?.to_s ?? to_s
    if (from_s >= stored_s && to_s - from_s >= RING_SERVED_S) all = withGap(all, { from_s, to_s })
  }
  return all
}

/** Returns the gaps that remain after time is set back to `to_s`. */
export function gapsBefore(gaps: readonly Gap[], to_s: number): readonly Gap[] {
  return gaps.filter(({ from_s }) => from_s < to_s).map((gap) => ({ ...gap, to_s: Math.min(gap.to_s, to_s) }))
}

/**
 * The oldest second for which a tier keeps its chunks. A tier answers for less (`coverageStart`), but older chunks
 * expire only as fast as newer seconds come: a clock set forward by mistake ages nothing, and once it is corrected,
 * everything is still there.
 */
export function keptFrom(tier: Tier, hwm_s: number, gaps: readonly Gap[]): number {
  let start_s = floorTo(hwm_s, tier.step_s) - tier.step_s * tier.rows
  for (const gap of gaps.toReversed()) {
    if (start_s > gap.to_s) break
    start_s -= length_s(gap)
  }
  return Math.max(0, start_s, ceilTo(tier.floor_s ?? 0, tier.step_s))
}

function length_s({ from_s, to_s }: Gap): number {
  return to_s - from_s
}
