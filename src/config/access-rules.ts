import type { Problem } from '../drivers/driver.ts'
import { SHARED } from '../model/node.ts'
import type { User } from '../model/access.ts'
import type { ConfigView } from '../model/sections.ts'

/** Whether someone who can log in would still hold the role that may do everything. */
export function verifyAdministrators(desired: ConfigView, administratorRole: string): readonly Problem[] {
  const administrators = [...desired.list('users')].filter((user) => isAdministrator(user, desired, administratorRole))
  if (administrators.length > 0) return breakGlassProblems(desired, administrators)
  const message = 'no enabled user would hold the Administrator role; nobody could undo this'
  return [{ section: 'roles', id: administratorRole, field: 'users', message }]
}

function isAdministrator({ disabled, roles, groups }: User, view: ConfigView, role: string): boolean {
  // A record of the same id that is no default role grants what it lists, which may be nothing.
  if (disabled || view.get('roles', role)?.builtin === false) return false
  return roles.includes(role) || groups.some((id) => view.get('groups', id)?.roles.includes(role))
}

/** Where passwords are off, somebody who can repair that must still get in when the identity provider fails. */
function breakGlassProblems(desired: ConfigView, administrators: readonly User[]): readonly Problem[] {
  const saml = desired.get('samlConfigs', SHARED)
  if (saml?.enabled !== true || !saml.enforced) return []
  if (administrators.some(({ id }) => id === saml.breakGlassUserId)) return []
  const message = 'the user who may log in with a password must be enabled and hold the Administrator role'
  return [{ section: 'samlConfigs', id: SHARED, field: 'breakGlassUserId', message }]
}
