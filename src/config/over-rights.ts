import { ApiError } from '../errors.ts'
import type { RecordChange, SectionName } from '../model/sections.ts'

const OVER_RIGHTS: ReadonlySet<SectionName> = new Set([
  'users',
  'groups',
  'roles',
  'radiusConfigs',
  'radiusUsers',
  'samlConfigs',
  'loginPolicies',
])

/**
 * Users and roles as a backup or an earlier revision has them could give rights to anybody, once somebody else applies:
 * restoring them takes the right to make roles.
 */
export function refuseOverRights(changes: readonly RecordChange[], mayMakeRoles: boolean): void {
  if (mayMakeRoles || !changes.some(({ section }) => OVER_RIGHTS.has(section))) return
  throw new ApiError(
    'PERMISSION_DENIED',
    'This would change users, roles or how people log in: it takes the right to POST /rbac/roles',
  )
}
