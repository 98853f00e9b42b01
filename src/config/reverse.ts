import { isDeepStrictEqual } from 'node:util'
import { changedFields, applyPatch } from '../../storage/config/amendment.ts'
import type { ConfigStore, Origin, Write } from '../../storage/config/config-store.ts'
import type { RevisionChanges } from '../context/revisions.ts'
import { ApiError } from '../base/errors.ts'
import { turn } from '../base/turns.ts'
import { type ConfigView, SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'
import { type Named, nameRecord, sharedNames } from '../rules/names.ts'
import { danglingReferences } from '../rules/references.ts'
import type { Draft } from './draft.ts'
import { judgedWrites } from './made.ts'
import { type May, refuseForeign } from './needed-rights.ts'
import { assertRecord } from './record-schema.ts'
import { CLUSTER } from './views.ts'

/**
 * Edits a draft so that the changes of one revision are undone, and resolves with the number of records concerned;
 * refuses callers that may not make these edits themselves.
 */
export async function reverse(
  store: Pick<ConfigStore, 'candidate'>,
  draft: Draft,
  { revision, changes }: RevisionChanges,
  origin: Origin,
  may: May,
): Promise<number> {
  const writes = reverseOf(draft.view, revision, changes)
  refuseForeign(judgedWrites(store, writes, origin), may, 'ask somebody with the right', () => draft.view)
  await draft.rewrite(writes, (view) => refuseUnfit(view, revision, writes))
  return writes.length
}

/**
 * Returns the writes that undo one revision, field by field: changes to other fields by later revisions and pending
 * changes stay, and what is undone already needs no write. Refuses with REVISION_MISMATCH if one of its own fields, or
 * a record that it created or removed, has changed since.
 */
export function reverseOf(view: ConfigView, revision: number, changes: RevisionChanges['changes']): readonly Write[] {
  const writes: Write[] = []
  const changed: Found[] = []
  for (const change of changes) {
    const section = SECTION_NAMES.find((name) => name === change.section)
    if (section === undefined) continue
    const { key } = change
    const now = view.get(section, key)
    const [before, after] = [change.before ?? undefined, change.after ?? undefined]
    const isMade = section === 'acmeOrders' && before === undefined
    const back = asBefore(isMade ? withProgress(now, after) : now, before, after)
    if (back === CHANGED) {
      const name = String(Reflect.get(Object(now ?? change.before), SECTIONS[section].nameField))
      changed.push({ section, id: key, name })
    } else if (!isDeepStrictEqual(back, now)) {
      if (back !== undefined) assertRecord(section, back)
      writes.push({ section, scope: CLUSTER, key, value: back })
    }
  }
  if (changed.length === 0) return writes
  const message = `Records of revision ${revision} have been changed since: ${named(changed)}; edit them, or undo the later revision first`
  throw new ApiError('REVISION_MISMATCH', message, { data: { records: listed(changed) } })
}

const NAMED_MAX = 5
const LISTED_MAX = 1_000
const CHANGED = Symbol('changed since')

/** Returns a new order with the progress that it had: the daemon's work on it is no change that somebody made. */
function withProgress(now: unknown, after: unknown): unknown {
  if (now === undefined || after === undefined) return now
  const { progress: _, ...order } = Object(now)
  return 'progress' in Object(after) ? { ...order, progress: Reflect.get(Object(after), 'progress') } : order
}

/** Returns the record after undoing; undefined if it is removed. */
function asBefore(now: unknown, before: unknown, after: unknown): unknown {
  if (isDeepStrictEqual(now, after) || isDeepStrictEqual(now, before)) return before
  // A record that the revision created or removed has no single fields to restore.
  if (now === undefined || before === undefined || after === undefined) return CHANGED
  const back = changedFields(after, before)
  const of = (record: unknown, field: string): unknown => Reflect.get(Object(record), field)
  const isOwn = (field: string) => isDeepStrictEqual(of(now, field), of(after, field))
  const isBack = (field: string) => isDeepStrictEqual(of(now, field), of(before, field))
  return Object.keys(back).every((field) => isOwn(field) || isBack(field)) ? applyPatch(now, back) : CHANGED
}

/**
 * Refuses if later changes depend on the revision: a record would be removed although others need it, one would come
 * back and need a record that is gone, or its name is taken by now.
 */
async function refuseUnfit(view: ConfigView, revision: number, writes: readonly Write[]): Promise<void> {
  const gone = new Set(writes.flatMap(({ section, key, value }) => (value === undefined ? [`${section} ${key}`] : [])))
  const dangling = danglingReferences(view)
  const users = dangling.filter(({ refersTo }) => gone.has(`${refersTo.section} ${refersTo.id}`))
  if (users.length > 0) {
    const usage = users.map(({ section, id, name, field }) => ({ resource: section, id, name, field }))
    const message = `Records that revision ${revision} created are used by ${named(users)}; change those first`
    throw new ApiError('IN_USE', message, { data: { usage: usage.slice(0, LISTED_MAX) } })
  }
  const [first] = dangling
  if (first !== undefined) {
    const { label } = SECTIONS[first.refersTo.section]
    const message = `In the state before revision ${revision}, ${named(dangling)} would need the ${label} ${first.refersTo.id}, which no longer exists; undo the revision that removed it first`
    throw new ApiError('REVISION_MISMATCH', message, { data: { records: listed(dangling) } })
  }
  for (const section of SECTION_NAMES) {
    const [shared] = sharedNames(view, section)
    if (shared !== undefined) {
      const { label, nameField } = SECTIONS[section]
      const message = `In the state before revision ${revision}, more than one ${label} would be named ${shared.name}; rename the present one first`
      const errors = [{ field: nameField, code: 'NAME_NOT_UNIQUE', message: 'is taken' }]
      throw new ApiError('NAME_NOT_UNIQUE', message, { errors })
    }
    await turn()
  }
}

type Found = Named & { readonly section: SectionName }

const listed = (records: readonly Found[]) =>
  records.slice(0, LISTED_MAX).map(({ section, id, name }) => ({ resource: section, resourceId: id, name }))

function named(records: readonly Found[]): string {
  const more = records.length > NAMED_MAX ? ` and ${records.length - NAMED_MAX} more` : ''
  const names = records.slice(0, NAMED_MAX).map(({ section, ...record }) => nameRecord(section, record))
  return `${names.join(', ')}${more}`
}
