import type { ArchiveObject } from './catalog.ts'
import type { RingWriter } from './ring.ts'
import { METRIC_COUNT } from './tiers.ts'
import type { TierReader } from './tier-reader.ts'

/** Returns the seconds [from, to) of each slot, from wherever the archive has them now. */
export function rowsBetween(
  objects: readonly ArchiveObject[],
  reader: TierReader,
  flushed_s: number,
  from_s: number,
  to_s: number,
): ReadonlyMap<number, Float64Array> {
  const rows = new Map<number, Float64Array>()
  for (const object of objects) {
    if (object.slot < 0) continue
    const values = new Float64Array((to_s - from_s) * METRIC_COUNT)
    reader.readBase(object, from_s, to_s, flushed_s, values)
    rows.set(object.slot, values)
  }
  return rows
}

/** Makes the ring hold exactly the seconds [from, to). */
export function rewindRing(
  ring: RingWriter,
  rows: ReadonlyMap<number, Float64Array>,
  from_s: number,
  to_s: number,
): void {
  const n = to_s - from_s
  ring.reset(from_s)
  for (let i = 0; i < n; i++) {
    ring.beginSecond(from_s + i)
    for (const [slot, values] of rows) {
      for (let metric = 0; metric < METRIC_COUNT; metric++) {
        ring.set(slot, from_s + i, metric, values[metric * n + i] ?? Number.NaN)
      }
    }
  }
}
