import type { Change, ConfigStore, Write } from '../../storage/config/config-store.ts'
import type { RecordChange } from '../model/sections.ts'
import { CLUSTER } from './views.ts'

/** What the edits of a request change, compared with what it found. `found` is what its transaction held already. */
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

/** What taking pending changes back does to the candidate. */
export function takenBackBy(changes: readonly Change[], ids: readonly string[]): readonly RecordChange[] {
  const wanted = new Set(ids)
  return changes
    .filter(({ id }) => wanted.has(id))
    .map(({ section, key: id, before, after }) => {
      return { section, id, before: after?.value, after: before?.value } as RecordChange
    })
}
