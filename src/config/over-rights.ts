import { ApiError } from '../base/errors.ts'
import { ACCESS_SECTIONS } from '../model/access-sections.ts'
import type { RecordChange } from '../model/sections.ts'

/**
 * Refuses to restore users and roles without the right to create roles: those of a backup or an earlier revision could
 * give rights to anybody, as soon as somebody else applies.
 */
export function refuseOverRights(changes: readonly RecordChange[], mayMakeRoles: boolean): void {
  if (mayMakeRoles || !changes.some(({ section }) => ACCESS_SECTIONS.has(section))) return
  throw new ApiError(
    'PERMISSION_DENIED',
    'This would change users, roles or login settings: it needs the right to POST /rbac/roles',
  )
}
