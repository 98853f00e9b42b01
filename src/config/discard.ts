import type { ConfigStore } from '../../storage/config/config-store.ts'
import { ApiError } from '../errors.ts'
import { type ConfigView, SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'
import { danglingReferences } from './reference-rules.ts'
import { frozenView } from './views.ts'

/**
 * The ids of the changes to take back: all, or the named one. Refuses when what is left would refer to a record that
 * is gone, or would give two records one name.
 */
export function discardable(store: ConfigStore, changeId: string | undefined): readonly string[] {
  const changes = store.changes()
  if (changes.some((change) => store.isFrozen(change.id) && (changeId === undefined || change.id === changeId))) {
    throw new ApiError('APPLY_IN_PROGRESS', 'This is being applied right now; change it back afterwards', {
      headers: { 'Retry-After': '1' },
    })
  }
  if (changeId === undefined) return changes.map((change) => change.id)
  if (!changes.some((change) => change.id === changeId)) {
    throw new ApiError('NOT_FOUND', `There is no pending change with id ${changeId}`)
  }
  const rest = frozenView(
    store.running,
    changes.filter((change) => change.id !== changeId),
  )
  const usage = danglingReferences(rest).map(({ section, id, name, field }) => ({ resource: section, id, name, field }))
  if (usage.length > 0) {
    const users = usage.map((user) => user.name).join(', ')
    throw new ApiError('IN_USE', `Other pending changes need this one: ${users}; discard them first`, {
      data: { usage },
    })
  }
  for (const section of SECTION_NAMES) refuseSameNames(rest, section)
  return [changeId]
}

/** Taking a rename back must not leave two records with one name. */
function refuseSameNames<N extends SectionName>(view: ConfigView, section: N): void {
  const { label, nameField } = SECTIONS[section]
  const seen = new Set<string>()
  for (const record of view.list(section)) {
    const name = String(record[nameField])
    if (seen.has(name.toLowerCase())) {
      throw new ApiError('NAME_NOT_UNIQUE', `Without this change more than one ${label} would be named ${name}`)
    }
    seen.add(name.toLowerCase())
  }
}
