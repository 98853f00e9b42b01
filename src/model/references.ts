import { type HealthCheckSetting, isBuiltIn } from './health-check.ts'
import type { SectionName } from './section-records.ts'

/** A reference from one record to another: `field` is a dotted path in the record. */
export interface Reference {
  readonly field: string
  readonly section: SectionName
  readonly id: string
  /** The section to search if the record is not in `section`. */
  readonly orSection?: SectionName
}

export const named = (field: string, section: SectionName, ids: readonly string[]): Reference[] =>
  ids.map((id, index) => ({ field: `${field}.${index}`, section, id }))

/** null, undefined and '' refer to nothing. */
export const maybe = (field: string, section: SectionName, id: string | null | undefined): Reference[] =>
  id === null || id === undefined || id === '' ? [] : [{ field, section, id }]

/** References of a backend of either layer: its real servers, and its health check script. */
export const ofBackend = ({
  reals,
  healthCheck,
}: {
  readonly reals: readonly { readonly ripId: string }[]
  readonly healthCheck: HealthCheckSetting
}): Reference[] => [
  ...reals.map((real, index): Reference => ({ field: `reals.${index}.ripId`, section: 'realServers', id: real.ripId })),
  ...(isBuiltIn(healthCheck.id ?? '') ? [] : maybe('healthCheck.id', 'healthChecks', healthCheck.id)),
]
