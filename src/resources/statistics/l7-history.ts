import { FRONTEND_METRICS, METRICS } from '../../model/metrics.ts'
import { historyEndpoints } from './history-endpoints.ts'

export const l7History = historyEndpoints({
  name: 'l7History',
  base: '/{applianceId}/layer7proxy/stats',
  title: 'Layer 7',
  isExtension: false,
  metrics: { frontend: FRONTEND_METRICS, backend: METRICS, server: METRICS },
  figures: (ctx) => ctx.history,
})
