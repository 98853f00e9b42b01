import type { Problem } from '../drivers/driver.ts'
import type { ConfigView } from '../model/sections.ts'

/** Whether someone who can log in would still hold the role that may do everything. */
export function verifyAdministrators(desired: ConfigView, administratorRole: string): readonly Problem[] {
  for (const user of desired.list('users')) {
    if (user.disabled) continue
    if (user.roles.includes(administratorRole)) return []
    if (user.groups.some((id) => desired.get('groups', id)?.roles.includes(administratorRole))) return []
  }
  const message = 'no enabled user would hold the Administrator role; nobody could undo this'
  return [{ section: 'roles', id: administratorRole, field: 'users', message }]
}
