import { METRIC_COUNT } from '../../storage/archive/tiers.ts'
import type { ArchiveWriter } from '../../storage/archive/writer.ts'

/** Writes `seconds` seconds of one object: in second s, metric m has the value `valueOf(m, s)`; NaN is unknown. */
export function writeSeconds(
  writer: ArchiveWriter,
  name: string,
  seconds: number,
  valueOf: (metric: number, second: number) => number,
): void {
  for (let i = 0; i < seconds; i++) {
    const second = writer.hwm_s
    const object = writer.ensure('frontend', name, '')
    writer.ring.beginSecond(second)
    for (let metric = 0; metric < METRIC_COUNT; metric++) {
      writer.ring.set(object?.slot ?? 0, second, metric, valueOf(metric, second))
    }
    writer.commit(second + 1, true, undefined)
  }
}
