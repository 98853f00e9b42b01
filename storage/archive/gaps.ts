import { GAPS_MAX, RING_SERVED_S } from '../limits.ts'
import { ceilTo, floorTo, keyFirst, keySecond, makeKey, writeKey } from './layout.ts'
import type { SealedRows } from './sealed-rows.ts'
import type { Tier } from './tiers.ts'

const META_GAPS = makeKey(0, 5)
const ENTRY_BYTES = 8

/** Seconds that nothing was recorded in: the daemon was not there, or the clock was set forward. */
export interface Gap {
  readonly from_s: number
  readonly to_s: number
}

/** From old to new. Of an archive that never had one, or does not know of them any more, there are none. */
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

/** With one more at the end. Where there are too many, the shortest counts as time that passed. */
export function withGap(gaps: readonly Gap[], gap: Gap): readonly Gap[] {
  const all = [...gaps, gap]
  if (all.length <= GAPS_MAX) return all
  const shortest = Math.min(...all.map(length_s))
  const first = all.findIndex((one) => length_s(one) === shortest)
  return all.filter((_, index) => index !== first)
}

/** With those that the crash tail alone knows of: LMDB refused when they were passed over. */
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

/** What is left of them when time is `to_s` again. */
export function gapsBefore(gaps: readonly Gap[], to_s: number): readonly Gap[] {
  return gaps.filter(({ from_s }) => from_s < to_s).map((gap) => ({ ...gap, to_s: Math.min(gap.to_s, to_s) }))
}

/**
 * The oldest second of which a tier keeps its chunks. It answers for less (`coverageStart`), but what is older than
 * that goes only as fast as newer seconds come: a clock that is set forward by mistake makes nothing old, and when it
 * is set right again, all is there.
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
