/** The four history metrics of the contract, in the order in which the archive stores their columns. */
export const METRICS = ['currentSessions', 'sessionRate', 'bytesIn', 'bytesOut'] as const
export type Metric = (typeof METRICS)[number]

export const CONSOLIDATIONS = ['average', 'minimum', 'maximum', 'sum'] as const
export type Consolidation = (typeof CONSOLIDATIONS)[number]

export function isMetric(name: string): name is Metric {
  return METRICS.some((metric) => metric === name)
}
