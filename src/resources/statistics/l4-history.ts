import type { ContextOf } from '../../context/context.ts'
import { CORE_METRICS } from '../../model/metrics.ts'
import { historyEndpoints } from './history-endpoints.ts'

const layer = {
  title: 'Layer 4',
  isExtension: true,
  metrics: { frontend: CORE_METRICS, backend: CORE_METRICS, server: CORE_METRICS },
  figures: (ctx: ContextOf['read']) => ctx.layer4.history,
} as const

/** At the same places as for Layer 7: beside the live figures, and below the node whose archive it is. */
export const l4History = [
  ...historyEndpoints({ name: 'l4History', base: '/ipvsDirector/stats', ...layer }),
  ...historyEndpoints({ name: 'l4NodeHistory', base: '/{applianceId}/ipvsDirector/stats', ...layer }),
]
