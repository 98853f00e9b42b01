import type { ConfigStore } from '../../storage/config/config-store.ts'
import { ApiError } from '../base/errors.ts'
import { nameKey } from '../base/name-key.ts'
import { type ConfigView, SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'
import { isOnlyOf, toJudged } from './chosen-changes.ts'
import { nameUsers, sharedNames } from '../rules/names.ts'
import { isOfAccess, type May, refuseForeign } from './needed-rights.ts'
import { type Dangling, danglingReferences } from '../rules/references.ts'
import { frozenView } from './views.ts'

/** Which pending changes to take back: all, those of one person, or one. */
export type Discarded = 'all' | { readonly by: string } | { readonly id: string }

const HOW_TO_GO_ON =
  'discard your own with DELETE /services/pending?mine=true or DELETE /services/pending/{changeId}, or ask somebody with the right'
/** Used when changes of access are among them, whoever made them. */
const HOW_TO_LEAVE_ACCESS =
  'changes to users, roles and login settings are discarded together; discard others with DELETE /services/pending/{changeId}, or ask somebody with the right'

interface Discarding {
  /** Ids of all changes to take back. */
  readonly ids: readonly string[]
  /** How many of them the caller did not name: they are taken back together with a change of access. */
  readonly others: number
}

/**
 * Returns the changes to take back. Changes of access are taken back together. Refuses callers that could not have made
 * them, and discards after which a record would newly refer to a missing one, or two records would newly share a name.
 * What an apply that was taken back has already broken does not prevent discarding one change after the other.
 */
export function discardable(store: ConfigStore, which: Discarded, may: May): Discarding {
  const changes = store.staged()
  const named = changes.filter(
    (change) => which === 'all' || ('id' in which ? change.id === which.id : isOnlyOf(change, which.by)),
  )
  if (which !== 'all' && 'id' in which && named.length === 0) {
    throw new ApiError('NOT_FOUND', `There is no staged change with id ${which.id}`)
  }
  const wanted = new Set(named)
  const gone = isOfAccess(named) ? changes.filter((change) => wanted.has(change) || isOfAccess([change])) : named
  const howToGoOn = which !== 'all' && isOfAccess(named) ? HOW_TO_LEAVE_ACCESS : HOW_TO_GO_ON
  refuseForeign(gone.map(toJudged), may, howToGoOn, () => frozenView(store.agreed, changes))
  if (gone.some(({ id }) => store.isFrozen(id))) {
    throw new ApiError('APPLY_IN_PROGRESS', 'This change is being applied right now; change it back afterwards', {
      headers: { 'Retry-After': '1' },
    })
  }
  const discarding = { ids: gone.map(({ id }) => id), others: gone.length - named.length }
  if (gone.length === changes.length) return discarding
  const taken = new Set(gone)
  const rest = frozenView(
    store.agreed,
    changes.filter((change) => !taken.has(change)),
  )
  const before = frozenView(store.agreed, changes)
  const usage = newlyDangling(before, rest).map(({ section, id, name, field }) => ({
    resource: section,
    id,
    name,
    field,
  }))
  if (usage.length > 0) {
    throw new ApiError('IN_USE', `Other pending changes need this one: ${nameUsers(usage)}; discard them first`, {
      data: { usage },
    })
  }
  for (const section of SECTION_NAMES) refuseSameNames(before, rest, section)
  return discarding
}

function newlyDangling(before: ConfigView, rest: ConfigView): readonly Dangling[] {
  const left = danglingReferences(rest)
  if (left.length === 0) return left
  const keyOf = ({ section, id, refersTo }: Dangling) => [section, id, refersTo.section, refersTo.id].join('\0')
  const known = new Set(danglingReferences(before).map(keyOf))
  return left.filter((dangling) => !known.has(keyOf(dangling)))
}

/** Refuses if taking a rename back would leave two records with one name. */
function refuseSameNames(before: ConfigView, rest: ConfigView, section: SectionName): void {
  const shared = sharedNames(rest, section)
  if (shared.length === 0) return
  const known = new Set(sharedNames(before, section).map(({ name }) => nameKey(name)))
  const added = shared.find(({ name }) => !known.has(nameKey(name)))
  if (added === undefined) return
  const { label } = SECTIONS[section]
  throw new ApiError('NAME_NOT_UNIQUE', `Without this change more than one ${label} would be named ${added.name}`)
}
