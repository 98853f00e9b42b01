import type { SectionName } from './section-records.ts'

/** The sections that say who may come in, how, and what they may do. */
export const ACCESS_SECTIONS: ReadonlySet<SectionName> = new Set([
  'users',
  'groups',
  'roles',
  'radiusConfigs',
  'radiusUsers',
  'samlConfigs',
  'oidcConfigs',
  'loginPolicies',
])
