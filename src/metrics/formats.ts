import { weightsOf } from '../api/accept.ts'
import type { MetricsFormat } from '../context/metrics.ts'

export const CONTENT_TYPES: Readonly<Record<MetricsFormat, string>> = {
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
}

/** Returns OpenMetrics for clients that name it and do not prefer the other format. */
export function formatFor(accept: string): MetricsFormat {
  const weights = weightsOf(accept)
  const openmetrics = weights.get('application/openmetrics-text') ?? 0
  const plain = weights.get('text/plain') ?? 0
  return openmetrics > 0 && openmetrics >= plain ? 'openmetrics' : 'prometheus'
}
