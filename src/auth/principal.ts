import { comparedName, isReservedName } from './login-name.ts'
import { SHARED } from '../model/node.ts'
import type { ConfigView, SectionRecords } from '../model/sections.ts'

/** A user who can hold a session: a local user, or one for whom a RADIUS server or an identity provider vouched. */
export interface Principal {
  readonly id: string
  /** Login name. */
  readonly name: string
  readonly disabled: boolean
  readonly groups: readonly string[]
  readonly roles: readonly string[]
}

/** Sections that hold users. */
export const OF_USERS: ReadonlySet<string> = new Set(['users', 'radiusUsers'])

/** Returns the principal with this record. */
export function principalOf(view: ConfigView, id: string): Principal | undefined {
  const local = view.get('users', id)
  if (local !== undefined) return { ...local, name: local.email }
  const remote = view.get('radiusUsers', id)
  const config = view.get('radiusConfigs', SHARED)
  // Nothing vouches for them any more.
  if (remote === undefined || config?.enabled !== true) return undefined
  // The audit log would show two users, or a user and the daemon, under one name.
  if (localUser(view, remote.username) !== undefined || isReservedName(remote.username)) return undefined
  const mapped = new Set(config.groupMappings.map(({ groupId }) => groupId))
  // Groups from the last login count only as far as the present mappings include them.
  return { ...remote, name: remote.username, roles: [], groups: remote.groups.filter((group) => mapped.has(group)) }
}

/** Returns the local user with this login name. */
export function localUser(view: ConfigView, name: string): SectionRecords['users'] | undefined {
  const wanted = comparedName(name)
  for (const user of view.list('users')) if (comparedName(user.email) === wanted) return user
  return undefined
}
