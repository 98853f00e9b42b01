import { ApiError } from '../base/errors.ts'
import { ACCESS_SECTIONS } from '../model/access-sections.ts'
import type { RecordChange } from '../model/sections.ts'

/**
 * Users and roles as a backup or an earlier revision has them could give rights to anybody, once somebody else applies:
 * restoring them takes the right to make roles.
 */
export function refuseOverRights(changes: readonly RecordChange[], mayMakeRoles: boolean): void {
  if (mayMakeRoles || !changes.some(({ section }) => ACCESS_SECTIONS.has(section))) return
  throw new ApiError(
    'PERMISSION_DENIED',
    'This would change users, roles or how people log in: it takes the right to POST /rbac/roles',
  )
}
