import { isAgreed } from '../../storage/config/ahead.ts'
import type { Change, ConfigStore, Origin, RecordKey, RecordReader, Write } from '../../storage/config/config-store.ts'
import { changesNothing } from '../../storage/config/mirror.ts'
import type { ApplyOptions, Choice } from '../context/applying.ts'
import { ApiError, type FieldError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { nameKey } from '../base/name-key.ts'
import { type ConfigView, SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'
import { sharedNames } from '../rules/names.ts'
import { isOfAccess, type Judged, type May, refuseForeign, told } from './needed-rights.ts'
import { danglingReferences } from '../rules/references.ts'
import { changeTo, configView, frozenView } from './views.ts'

const HOW_TO_GO_ON =
  'apply some of the changes with {"changes": [ids]} or your own with {"mine": true}, or ask somebody with the right'

/** Returns a stored change in the form in which rights are judged. */
export const toJudged = ({ before, after, ...change }: Change): Judged => ({
  ...change,
  before: before?.value,
  after: after?.value,
})

/**
 * Returns edits that were never staged as changes to running. Refuses if one of their records has a pending change, or
 * if they need other pending changes.
 */
export function editedChanges(
  store: Pick<ConfigStore, 'changes' | 'agreed'>,
  edits: readonly Write[],
  origin: Origin,
): readonly Change[] {
  const pending = store.changes()
  const staged = new Map(pending.map((change) => [keyOf(change), change]))
  const changes = edits
    .map((edit): Change => ({ ...changeTo(store.agreed, edit, edit.value ?? null), id: newId(), ...origin }))
    .filter((change) => !changesNothing(change))
  refuseMissing(edits.flatMap((edit) => staged.get(keyOf(edit)) ?? []))
  refuseDependent(store.agreed, [...pending, ...changes], changes)
  return changes
}

const keyOf = ({ section, scope, key }: RecordKey) => [section, scope, key].join('\0')

/** Whether nobody else has edited the change. */
export const isOnlyOf = ({ actor, others = [] }: Pick<Origin, 'actor' | 'others'>, by: string): boolean =>
  actor === by && others.length === 0

/**
 * Returns the ids of the changes that an apply makes running. Refuses changes that its caller could not have staged,
 * and changes that need others which were not chosen.
 */
export function chosenChanges(
  store: Pick<ConfigStore, 'changes' | 'agreed' | 'running'>,
  { changes: ids, mine, onlyHere = false }: Choice & Pick<ApplyOptions, 'onlyHere'>,
  { by, may }: { readonly by: string; readonly may: May },
): ReadonlySet<string> {
  const running = onlyHere ? store.running : store.agreed
  const pending = onlyHere ? store.changes().filter((change) => !isAgreed(running, change)) : store.changes()
  const wanted = ids === undefined ? undefined : new Set(ids)
  refuseUnknown(ids ?? [], pending)
  const chosen = pending.filter((change) => wanted?.has(change.id) ?? (mine !== true || isOnlyOf(change, by)))
  refuseForeign(chosen.map(toJudged), may, HOW_TO_GO_ON, () => frozenView(running, pending))
  if (onlyHere) refuseShared(chosen)
  if (chosen.length < pending.length) refuseDependent(running, pending, chosen)
  return new Set(chosen.map(({ id }) => id))
}

/** Access rights concern every node, so changes to them cannot be applied on one node alone. */
function refuseShared(chosen: readonly Change[]): void {
  const errors = chosen
    .filter((change) => isOfAccess([change]))
    .map((change): FieldError => ({
      field: change.id,
      code: 'NOT_SUPPORTED',
      message: `${told(toJudged(change))} concerns accounts and rights, which are the same on all nodes`,
    }))
  if (errors.length === 0) return
  const message = `Nodes cannot differ in accounts and rights: PUT /services/apply applies these on all, {"changes": [ids]} leaves them out here`
  throw new ApiError('NOT_SUPPORTED', message, { errors })
}

function refuseUnknown(ids: readonly string[], pending: readonly Change[]): void {
  const known = new Set(pending.map(({ id }) => id))
  const errors = ids.flatMap((id, place): FieldError[] =>
    known.has(id)
      ? []
      : [{ field: `changes.${place}`, code: 'NOT_FOUND', message: `there is no pending change with id ${id}` }],
  )
  if (errors.length > 0) throw new ApiError('INVALID_BODY', 'The body names changes that are not pending', { errors })
}

/**
 * Each round reads the whole configuration and blocks everybody meanwhile. The next request reports the rest of a
 * longer chain.
 */
const ROUNDS_MAX = 16

/** Names the changes that were left out although the chosen ones need them: nothing goes live without being chosen. */
function refuseDependent(running: RecordReader, pending: readonly Change[], chosen: readonly Change[]): void {
  const [taken, missing] = [new Set(chosen), new Set<Change>()]
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const needed = neededBy(configView(running), frozenView(running, [...taken]), pending, taken)
    if (needed.length === 0) break
    for (const change of needed) {
      taken.add(change)
      missing.add(change)
    }
  }
  refuseMissing([...missing])
}

function refuseMissing(missing: readonly Change[]): void {
  if (missing.length === 0) return
  const errors = missing.map((change): FieldError => ({
    field: change.id,
    code: 'DEPENDS_ON_PENDING',
    message: `${told(toJudged(change))} is needed by the chosen changes`,
  }))
  throw new ApiError(
    'DEPENDS_ON_PENDING',
    'The chosen changes need other pending changes, listed in errors: apply those first or as well',
    { errors },
  )
}

/** Returns the pending changes that repair what taking only some of them would break. */
function neededBy(
  before: ConfigView,
  after: ConfigView,
  pending: readonly Change[],
  taken: ReadonlySet<Change>,
): readonly Change[] {
  const left = pending.filter((change) => !taken.has(change))
  const found = new Set(isOfAccess([...taken]) ? left.filter((change) => isOfAccess([change])) : [])
  const of = (section: SectionName, id: string) => left.find((other) => other.section === section && other.key === id)
  const known = new Set(danglingReferences(before).map((one) => JSON.stringify([one.section, one.id, one.refersTo])))
  for (const one of danglingReferences(after)) {
    if (known.has(JSON.stringify([one.section, one.id, one.refersTo]))) continue
    const change = of(one.refersTo.section, one.refersTo.id) ?? of(one.section, one.id)
    if (change !== undefined) found.add(change)
  }
  for (const section of SECTION_NAMES)
    for (const change of renamesNeeded(before, after, section, left)) found.add(change)
  return [...found]
}

/**
 * Returns the changes that give up a name which is taken and, for each of them, the changes that give up its new name.
 */
function renamesNeeded(
  before: ConfigView,
  after: ConfigView,
  section: SectionName,
  left: readonly Change[],
): ReadonlySet<Change> {
  const inSection = left.filter((change) => change.section === section)
  const needed = new Set<Change>()
  if (inSection.length === 0) return needed
  const sharedBefore = new Set(sharedNames(before, section).map(({ name }) => nameKey(name)))
  const names = sharedNames(after, section).map(({ name }) => nameKey(name))
  const shared = new Set(names.filter((name) => !sharedBefore.has(name)))
  if (shared.size === 0) return needed
  const { nameField } = SECTIONS[section]
  const nameOf = (record: Change['before']) => nameKey(String(Reflect.get(Object(record?.value), nameField)))
  const holders = new Map<string, Change[]>()
  for (const change of inSection) {
    if (change.before === undefined) continue
    const name = nameOf(change.before)
    const known = holders.get(name)
    if (known === undefined) holders.set(name, [change])
    else known.push(change)
  }
  // The set grows during the loop.
  for (const name of shared) {
    for (const change of holders.get(name) ?? []) {
      needed.add(change)
      if (change.after !== undefined) shared.add(nameOf(change.after))
    }
  }
  return needed
}
