import type { Change, RecordKey, Revision } from './config-store.ts'

/** The key of a record in LMDB. */
export type StoreKey = [section: string, scope: string, key: string]

export const encode = ({ section, scope, key }: RecordKey): StoreKey => [section, scope, key]
export const decode = ([section, scope, key]: StoreKey): RecordKey => ({ section, scope, key })

/** Pads revisions so that they sort as text. */
export const padRevision = (revision: number) => String(revision).padStart(12, '0')

/** Converts changes to the form stored in a revision. */
export function recordChanges(changes: readonly Change[]): Revision['changes'] {
  return changes.map(({ id, section, scope, key, actor, others, endpoint, at, before, after }) => ({
    section,
    scope,
    key,
    before: before?.value ?? null,
    after: after?.value ?? null,
    ...(id === '' ? {} : { origin: { changeId: id, actor, ...(others && { others }), endpoint, at } }),
  }))
}

/** Gives changes that no editor staged a revision of their own, so that a caller who has read the record notices. */
export function renumber(changes: readonly Change[], unstaged: boolean, next: () => number): readonly Change[] {
  return changes.map((change) =>
    !(unstaged || change.id === '') || change.after === undefined
      ? change
      : { ...change, after: { value: change.after.value, revision: next() } },
  )
}
