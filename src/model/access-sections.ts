import type { SectionName } from './section-records.ts'

/** The sections that determine who may log in, how, and with which rights. */
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
