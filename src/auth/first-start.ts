import { randomBytes } from 'node:crypto'
import type { Change, ConfigStore, StoredRecord } from '../../storage/config/config-store.ts'
import { ADMINISTRATOR, DEFAULT_ROLES } from '../api/access.ts'
import type { Clock } from '../clock.ts'
import { newId } from '../ids.ts'
import type { SectionName, SectionRecords } from '../model/sections.ts'
import type { Passwords } from './password.ts'

export interface FirstAdministrator {
  readonly id: string
  readonly email: string
  /** Set when it was made up and must be shown once. */
  readonly oneTimePassword: string | undefined
}

/**
 * Writes what an empty installation needs straight into running: the default roles (also after an upgrade that brings
 * new ones) and, when there is no user at all, the first administrator.
 */
export async function prepareAccess(
  store: ConfigStore,
  passwords: Passwords,
  clock: Clock,
  first: { readonly email: string; readonly password: string | undefined },
): Promise<FirstAdministrator | undefined> {
  const now_ms = clock.now_ms()
  const at = new Date(now_ms).toISOString()
  const changes: Change[] = []
  const add = <N extends SectionName>(section: N, record: SectionRecords[N]) => {
    const after: StoredRecord = { value: record, revision: 0 }
    const origin = { actor: 'system', endpoint: 'start', at }
    changes.push({ id: newId(), section, scope: '', key: record.id, before: undefined, after, ...origin })
  }
  for (const { id, name } of DEFAULT_ROLES) {
    if (store.running.get('roles', '', id) === undefined) add('roles', { id, name, builtin: true, endpoints: [] })
  }
  let administrator: FirstAdministrator | undefined
  if (store.running.list('users', '').length === 0) {
    const password = first.password ?? randomBytes(15).toString('base64url')
    administrator = {
      id: newId(),
      email: first.email,
      oneTimePassword: first.password === undefined ? password : undefined,
    }
    add('users', {
      id: administrator.id,
      email: first.email,
      firstName: 'First',
      lastName: 'Administrator',
      disabled: false,
      passwordHash: await passwords.hash(password),
      groups: [],
      roles: [ADMINISTRATOR.id],
    })
  }
  if (changes.length > 0) {
    const header = { applyId: newId(), revision: store.revision + 1, by: 'system', at, comment: 'first start' }
    await store.promote(changes, header)
  }
  return administrator
}
