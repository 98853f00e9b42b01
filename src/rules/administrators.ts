import { isDeepStrictEqual } from 'node:util'
import { ApiError } from '../base/errors.ts'
import { enforcedSso } from './enforced-sso.ts'
import type { Problem } from '../model/problem.ts'
import { SHARED } from '../model/node.ts'
import type { User } from '../model/access.ts'
import type { ConfigView } from '../model/sections.ts'

/** Returns problems unless a user who can log in holds the role that may do everything. */
export function verifyAdministrators(desired: ConfigView, administratorRole: string): readonly Problem[] {
  const administrators = [...desired.list('users')].filter((user) => isAdministrator(user, desired, administratorRole))
  if (administrators.length > 0)
    return breakGlassProblems(desired, administrators).map(({ section, id, field, message }) => ({
      section,
      id,
      field,
      message,
    }))
  return [{ section: 'roles', id: administratorRole, field: 'users', ...lacking(desired, administratorRole) }]
}

/** Returns the refusal for a change that nobody could undo, when it is staged and when it is applied. */
function lacking(view: ConfigView, administratorRole: string) {
  const name = view.get('roles', administratorRole)?.name ?? 'Administrator'
  const message = `No enabled user would hold the role ${name}, and nobody could undo this: assign it to another user first`
  return { message, usage: [{ resource: 'roles', id: administratorRole, name, field: 'users' }] }
}

/** Refuses an edit that nobody could undo. If there was no administrator before, the edit may be the remedy. */
export function refuseLastAdministrator(before: ConfigView, after: ConfigView, administratorRole: string): void {
  const those = (view: ConfigView) =>
    [...view.list('users')].filter((user) => isAdministrator(user, view, administratorRole))
  const [were, are] = [those(before), those(after)]
  if (were.length > 0 && are.length === 0) {
    const { message, usage } = lacking(before, administratorRole)
    throw new ApiError('IN_USE', message, { data: { usage } })
  }
  for (const lost of breakGlassProblems(after, are)) {
    const { section } = lost
    // An edit of the single sign-on settings is checked when it is applied: until then the user may be made an
    // administrator.
    if (!isDeepStrictEqual(after.get(section, SHARED), before.get(section, SHARED))) continue
    if (breakGlassProblems(before, were).some((one) => one.section === section)) continue
    const message = `Single sign-on is enforced, and this is the user who may log in with a password if the identity provider fails: name another administrator in breakGlassUserId of PUT ${lost.configPath} first`
    const usage = [{ resource: section, id: SHARED, name: 'single sign-on', field: 'breakGlassUserId' }]
    throw new ApiError('IN_USE', message, { data: { usage } })
  }
}

function isAdministrator({ disabled, roles, groups }: User, view: ConfigView, role: string): boolean {
  // A record with the same id that is no default role grants only what it lists, which may be nothing.
  if (disabled || view.get('roles', role)?.builtin === false) return false
  return roles.includes(role) || groups.some((id) => view.get('groups', id)?.roles.includes(role))
}

/**
 * If password login is off, an administrator must still be able to log in and fix that when the identity provider
 * fails.
 */
function breakGlassProblems(desired: ConfigView, administrators: readonly User[]) {
  const message = 'the user who may log in with a password must be enabled and hold the Administrator role'
  return enforcedSso(desired)
    .filter(({ breakGlassUserId }) => administrators.every(({ id }) => id !== breakGlassUserId))
    .map(({ section, configPath }) => ({ section, id: SHARED, field: 'breakGlassUserId', message, configPath }))
}
