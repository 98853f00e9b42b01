import { randomBytes } from 'node:crypto'
import type { Change, ConfigStore, StoredRecord } from '../../storage/config/config-store.ts'
import { ADMINISTRATOR, DEFAULT_ROLES } from '../api/access.ts'
import type { Clock } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import type { SectionName, SectionRecords } from '../model/sections.ts'
import type { User } from '../model/access.ts'
import { configView } from '../config/views.ts'
import type { Passwords } from './password.ts'

/** Key of the administrator whose password has not been shown yet, because no start has got that far. */
const UNSEEN_KEY = 'unseenAdministrator'

export interface FirstAdministrator {
  readonly id: string
  readonly email: string
  /** Set if it was generated and must be shown once. */
  readonly oneTimePassword: string | undefined
}

/**
 * Writes what a new installation needs straight into running: the default roles (also after an upgrade that adds some)
 * and, if there are no users, the first administrator. If a start fails, for example because a port is taken, the next
 * start is the first again, with the given password or a new generated one. Call `passwordWasShown` afterwards.
 */
export async function prepareAccess(
  store: ConfigStore,
  passwords: Passwords,
  clock: Clock,
  first: { readonly email: string; readonly password: string | undefined },
): Promise<FirstAdministrator | undefined> {
  const at = new Date(clock.now_ms()).toISOString()
  const changes: Change[] = []
  const add = <N extends SectionName>(section: N, record: SectionRecords[N]) => {
    const before = store.running.get(section, '', record.id)
    const after: StoredRecord = { value: record, revision: before?.revision ?? 0 }
    const origin = { actor: 'system', endpoint: 'start', at }
    changes.push({ id: newId(), revision: 0, section, scope: '', key: record.id, before, after, ...origin })
  }
  for (const { id, name } of DEFAULT_ROLES) {
    if (store.running.get('roles', '', id) === undefined) add('roles', { id, name, builtin: true, endpoints: [] })
  }
  const unseen = unseenAdministrator(store)
  let administrator: FirstAdministrator | undefined
  if (store.running.list('users', '').length === 0 || unseen !== undefined) {
    const oneTimePassword = first.password === undefined ? randomBytes(15).toString('base64url') : undefined
    const passwordHash = await passwords.hash(first.password ?? oneTimePassword ?? '')
    const user = unseen ?? administratorRecord(first.email)
    administrator = { id: user.id, email: user.email, oneTimePassword }
    await store.putMeta(UNSEEN_KEY, user.id)
    add('users', { ...user, passwordHash })
  }
  if (changes.length > 0) {
    const [by, comment] = ['system', 'first start']
    const header = { applyId: newId(), revision: store.revision + 1, by, at, comment }
    await store.write({ op: 'promote', header, changes })
  }
  return administrator
}

export async function passwordWasShown(store: ConfigStore): Promise<void> {
  // An unchanged start writes nothing, because it must succeed on a full disk.
  if (typeof store.getMeta(UNSEEN_KEY) === 'string') await store.putMeta(UNSEEN_KEY, null)
}

function unseenAdministrator(store: ConfigStore): User | undefined {
  const id = store.getMeta(UNSEEN_KEY)
  return typeof id === 'string' ? configView(store.running).get('users', id) : undefined
}

function administratorRecord(email: string): User {
  const names = { firstName: 'First', lastName: 'Administrator' }
  return { id: newId(), email, ...names, disabled: false, passwordHash: '', groups: [], roles: [ADMINISTRATOR.id] }
}
