/** One metric, as scrapers see it and docs/metrics.md describes it. */
export interface Family {
  /** Without the suffix `_total` or `_info` of its samples. */
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'info'
  readonly help: string
  readonly labels: readonly string[]
}

/** Base units of OpenMetrics that may be the suffix of a name. */
const UNITS = ['bytes', 'seconds'] as const

export const unitOf = ({ name }: Family): string | undefined => UNITS.find((unit) => name.endsWith(`_${unit}`))

/** Returns the name of its samples. */
export function sampleName({ name, type }: Family): string {
  return type === 'counter' ? `${name}_total` : type === 'info' ? `${name}_info` : name
}

const PREFIX = 'fulcrum_'

const family =
  (type: Family['type']) =>
  (name: string, help: string, labels: readonly string[] = []): Family => ({ name: PREFIX + name, type, help, labels })

export const counter = family('counter')
export const gauge = family('gauge')
export const info = family('info')
