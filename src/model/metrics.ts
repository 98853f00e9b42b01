/** The metrics of history, in the order in which the archive stores their columns. */
export const METRICS = [
  'currentSessions',
  'sessionRate',
  'bytesIn',
  'bytesOut',
  'requestRate',
  'responses1xx',
  'responses2xx',
  'responses3xx',
  'responses4xx',
  'responses5xx',
  'errors',
  'queue',
  'responseTime',
  'connectTime',
  'totalTime',
] as const
export type Metric = (typeof METRICS)[number]

/** The four of the specification, which are the default answer and all that Layer 4 has. */
export const CORE_METRICS: readonly Metric[] = METRICS.slice(0, 4)
/** HAProxy has no queue and measures no times for a frontend. */
export const FRONTEND_METRICS: readonly Metric[] = METRICS.slice(0, METRICS.indexOf('queue'))

export const CONSOLIDATIONS = ['average', 'minimum', 'maximum', 'sum'] as const
export type Consolidation = (typeof CONSOLIDATIONS)[number]

export function isMetric(name: string): name is Metric {
  return METRICS.some((metric) => metric === name)
}
