import type { ConfigStore } from '../../storage/config/config-store.ts'
import { ApiError } from '../errors.ts'
import { type ConfigView, SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'
import { sharedNames } from './name-rules.ts'
import { type Dangling, danglingReferences } from './reference-rules.ts'
import { frozenView } from './views.ts'

/**
 * The ids of the changes to take back: all, or the named one. Refuses when what is left would newly refer to a record that
 * is gone, or newly give two records one name. What was broken before, by an apply that was taken back, stops nobody who
 * discards one change after the other.
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
  const before = frozenView(store.running, changes)
  const usage = newlyDangling(before, rest).map(({ section, id, name, field }) => ({
    resource: section,
    id,
    name,
    field,
  }))
  if (usage.length > 0) {
    const users = usage.map((user) => user.name).join(', ')
    throw new ApiError('IN_USE', `Other pending changes need this one: ${users}; discard them first`, {
      data: { usage },
    })
  }
  for (const section of SECTION_NAMES) refuseSameNames(before, rest, section)
  return [changeId]
}

function newlyDangling(before: ConfigView, rest: ConfigView): readonly Dangling[] {
  const left = danglingReferences(rest)
  if (left.length === 0) return left
  const keyOf = ({ section, id, refersTo }: Dangling) => [section, id, refersTo.section, refersTo.id].join('\0')
  const known = new Set(danglingReferences(before).map(keyOf))
  return left.filter((dangling) => !known.has(keyOf(dangling)))
}

/** Taking a rename back must not leave two records with one name. */
function refuseSameNames(before: ConfigView, rest: ConfigView, section: SectionName): void {
  const shared = sharedNames(rest, section)
  if (shared.length === 0) return
  const known = new Set(sharedNames(before, section).map(({ name }) => name.toLowerCase()))
  const added = shared.find(({ name }) => !known.has(name.toLowerCase()))
  if (added === undefined) return
  const { label } = SECTIONS[section]
  throw new ApiError('NAME_NOT_UNIQUE', `Without this change more than one ${label} would be named ${added.name}`)
}
