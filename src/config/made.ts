import type { ConfigStore, Origin, Write } from '../../storage/config/config-store.ts'
import type { RecordChange } from '../model/sections.ts'
import type { Judged } from './needed-rights.ts'
import { CLUSTER } from './views.ts'

/**
 * Returns what the edits of a request change, compared with the state it found. `found` holds the earlier edits of its
 * transaction.
 */
export function madeBy(
  store: Pick<ConfigStore, 'candidate'>,
  found: ReadonlyMap<string, Write>,
  edits: ReadonlyMap<string, Write>,
): readonly RecordChange[] {
  return [...edits].flatMap(([key, { section, key: id, value: after }]) => {
    const base = found.get(key)
    if (base === edits.get(key)) return []
    const before = base === undefined ? store.candidate.get(section, CLUSTER, id)?.value : base.value
    // Sound: drafts write records of their section only.
    return [{ section, id, before, after } as RecordChange]
  })
}

/** Returns the edits of a transaction in the form in which rights are judged. */
export function judgedWrites(
  { candidate }: Pick<ConfigStore, 'candidate'>,
  writes: readonly Write[],
  { actor, endpoint }: Pick<Origin, 'actor' | 'endpoint'>,
): readonly Judged[] {
  return writes.map(({ section, scope, key, value: after }) => {
    const before = candidate.get(section, scope, key)?.value
    return { id: `${section}.${key}`, section, key, actor, endpoint, before, after }
  })
}

/** Returns the edits of a request in the form in which rights are judged. */
export const judgedEdits = (
  changes: readonly RecordChange[],
  { actor, endpoint }: Pick<Origin, 'actor' | 'endpoint'>,
): readonly Judged[] =>
  changes.map(({ section, id: key, before, after }) => {
    return { id: `${section}.${key}`, section, key, actor, endpoint, before, after }
  })

/** Returns how taking pending changes back alters the candidate. */
export function takenBackBy(store: Pick<ConfigStore, 'changes'>, ids: readonly string[]): readonly RecordChange[] {
  // The list of pending changes may be long, and most requests take none back.
  if (ids.length === 0) return []
  const wanted = new Set(ids)
  return store
    .changes()
    .filter(({ id }) => wanted.has(id))
    .map(({ section, key: id, before, after }) => {
      return { section, id, before: after?.value, after: before?.value } as RecordChange
    })
}
