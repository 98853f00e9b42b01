import { Metrics } from '../src/metrics/metrics.ts'
import type { Layer7Parts } from '../src/metrics/layer7-samples.ts'

/** The metrics of a node of which only Layer 7 says something. */
export function metricsOf(layer7: Layer7Parts, monotonic_ms = () => performance.now()): Metrics {
  const nothing = { hasFigures: false, figure: () => undefined, realsUp: () => undefined }
  const machine = { uptime_s: 1, load: [], cpu_s: new Map(), memory: undefined, disk: undefined, interfaces: [] }
  return new Metrics({
    layer7,
    layer4: { live: { ...nothing, healthIn: () => 'unknown' }, names: layer7.names },
    node: async () => ({
      nodeId: 'bench',
      name: 'bench',
      version: 'bench',
      machine,
      daemon: { startedAt_s: 1, cpu_s: 1, resident_bytes: 1 },
      haproxy: {
        isUp: true,
        version: undefined,
        uptime_s: undefined,
        reloads: undefined,
        failedReloads: undefined,
        oldWorkers: undefined,
      },
      archives: [],
      accessLogs: undefined,
      apply: { state: 'idle', revision: 1, startedAt: null, secondsLeft: null },
      pending: 0,
      certificates: [],
      jobs: [],
      cluster: undefined,
      floatingIps: [],
    }),
    clock: { monotonic_ms },
  })
}
