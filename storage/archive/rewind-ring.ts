import type { ArchiveObject } from './catalog.ts'
import type { RingWriter } from './ring.ts'
import { METRIC_COUNT } from './tiers.ts'
import type { TierReader } from './tier-reader.ts'

/** Makes the ring hold the seconds [from, to) and nothing else, wherever the archive has them now. */
export function rewindRing(
  ring: RingWriter,
  objects: readonly ArchiveObject[],
  reader: TierReader,
  flushed_s: number,
  from_s: number,
  to_s: number,
): void {
  const n = to_s - from_s
  const kept = new Map<number, Float64Array>()
  for (const object of objects) {
    if (object.slot < 0) continue
    const values = new Float64Array(n * METRIC_COUNT)
    reader.readBase(object, from_s, to_s, flushed_s, values)
    kept.set(object.slot, values)
  }
  ring.reset(from_s)
  for (let i = 0; i < n; i++) {
    ring.beginSecond(from_s + i)
    for (const [slot, values] of kept) {
      for (let metric = 0; metric < METRIC_COUNT; metric++) {
        ring.set(slot, from_s + i, metric, values[metric * n + i] ?? Number.NaN)
      }
    }
  }
}
