import { type HealthCheckSetting, isBuiltIn } from './health-check.ts'
import type { SectionName } from './section-records.ts'

/** One place where a record names another: `field` is a dotted path in the record. */
export interface Reference {
  readonly field: string
  readonly section: SectionName
  readonly id: string
  /** Where the record is when it is not in `section`. */
  readonly orSection?: SectionName
}

export const named = (field: string, section: SectionName, ids: readonly string[]): Reference[] =>
  ids.map((id, index) => ({ field: `${field}.${index}`, section, id }))

/** null, undefined and '' name nothing. */
export const maybe = (field: string, section: SectionName, id: string | null | undefined): Reference[] =>
  id === null || id === undefined || id === '' ? [] : [{ field, section, id }]

/** The real servers of a backend of either layer, and the script that checks them. */
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
