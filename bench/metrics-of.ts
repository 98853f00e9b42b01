import type { Layer7Parts } from '../src/metrics/layer7-source.ts'
import { Metrics } from '../src/metrics/metrics.ts'
import { expositionPool } from '../src/threads/worker-pool.ts'
import { STILL } from '../test/fixtures/metrics.ts'

/** Returns the metrics of a node that has figures of Layer 7 only. */
export function metricsOf(layer7: Layer7Parts, monotonic_ms = () => performance.now()): Metrics {
  const nothing = { hasFigures: false, figure: () => undefined, realsUp: () => undefined }
  return new Metrics({
    layer7,
    layer4: { live: { ...nothing, healthIn: () => 'unknown' }, names: layer7.names },
    node: async () => STILL,
    pool: expositionPool(),
    clock: { monotonic_ms },
  })
}
