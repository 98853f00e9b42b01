import type {
  Again,
  Change,
  ConfigStore,
  RecordChangeValue,
  RecordKey,
  RecordReader,
  Revision,
  StoredRecord,
} from '../../storage/config/config-store.ts'
import { applyPatch } from '../../storage/config/amendment.ts'
import { changesNothing } from '../../storage/config/mirror.ts'
import { mergeSorted } from '../../storage/config/sorted-records.ts'
import { keepingAmendments } from './amended-since.ts'
import type { Judged } from './needed-rights.ts'
import type { ConfigView, RecordChange, SectionName, SectionRecords } from '../model/sections.ts'

/** Sections that exist today are cluster-wide; settings of one node will carry its id here. */
export const CLUSTER = ''

/**
 * The only place where stored JSON becomes a typed record. Sound because every write went through `Draft`, which
 * checks the section's schema, and `--check` verifies it again.
 */
export function asRecord<N extends SectionName>(_section: N, value: unknown): SectionRecords[N] {
  return value as SectionRecords[N]
}

export function configView(reader: RecordReader): ConfigView {
  return {
    get(section, id) {
      const stored = reader.get(section, CLUSTER, id)
      return stored === undefined ? undefined : asRecord(section, stored.value)
    },
    list: (section) => recordsIn(section, reader.list(section, CLUSTER)),
  }
}

/** Kept with the list that they are in, which is another one when any of them is. */
const recordsByList = new WeakMap<readonly StoredRecord[], readonly unknown[]>()

function recordsIn<N extends SectionName>(section: N, list: readonly StoredRecord[]): readonly SectionRecords[N][] {
  const known = recordsByList.get(list)
  // Sound: a list of stored records is of one section.
  if (known !== undefined) return known as readonly SectionRecords[N][]
  const records = list.map(({ value }) => asRecord(section, value))
  recordsByList.set(list, records)
  return records
}

/**
 * Running with `changes` applied: stays the same while more is staged. Running itself cannot change during an apply.
 */
export function frozenView(running: RecordReader, changes: readonly Change[]): ConfigView {
  const base = configView(running)
  const frozen = new Map<string, Map<string, Change>>()
  for (const change of changes) {
    const ofSection = frozen.get(change.section)
    if (ofSection === undefined) frozen.set(change.section, new Map([[change.key, change]]))
    else ofSection.set(change.key, change)
  }
  const merged = new Map<SectionName, { readonly from: Iterable<unknown>; readonly records: readonly unknown[] }>()
  return {
    get(section, id) {
      const change = frozen.get(section)?.get(id)
      return change === undefined ? base.get(section, id) : changedTo(section, change)
    },
    list<N extends SectionName>(section: N): readonly SectionRecords[N][] {
      const from = base.list(section)
      const changed = frozen.get(section)
      if (changed === undefined) return from
      const known = merged.get(section)
      // Sound: they were merged for this section.
      if (known?.from === from) return known.records as readonly SectionRecords[N][]
      const after = new Map([...changed.values()].map((change) => [change.key, changedTo(section, change)]))
      const records = mergeSorted(from, (record) => record.id, after)
      merged.set(section, { from, records })
      return records
    },
  }
}

function changedTo<N extends SectionName>(section: N, { after }: Change): SectionRecords[N] | undefined {
  return after === undefined ? undefined : asRecord(section, after.value)
}

/** One side of changes, as the journal keeps it. */
export function sideOf(changes: readonly Change[], side: 'before' | 'after'): readonly RecordChangeValue[] {
  return changes.map(({ section, scope, key, [side]: stored }) => ({
    section,
    scope,
    key,
    after: stored?.value ?? null,
  }))
}

/** Running with what an apply that did not finish wanted. */
export function attemptedView(running: RecordReader, attempted: readonly RecordChangeValue[]): ConfigView {
  return frozenView(
    running,
    attempted.map((change) => changeTo(running, change, change.after)),
  )
}

/** What the last revision changed. It may hold thousands of records, so callers should read it once. */
export function lastMade(store: Pick<ConfigStore, 'revisions' | 'revision'>): Made {
  const [made] = store.revisions(1)
  if (made?.revision !== store.revision) throw new Error(`revision ${store.revision} is not the last one`)
  return made.changes
}

type Made = Revision['changes']

/** The same, as it is judged. */
export function judgedAs(made: Made): readonly Judged[] {
  return made.map(({ origin = UNKNOWN, ...change }) => ({ ...change, ...origin, id: origin.changeId }))
}

/** Revisions of versions that kept no authors. */
const UNKNOWN = { changeId: '', actor: '', endpoint: '', at: '' }

/** What a revision made, to be staged again when it is taken back: as it runs now, what was amended since included. */
export function pendingAgain(running: RecordReader, made: Made): readonly Again[] {
  return made.flatMap(({ section, scope, key, origin }) =>
    origin === undefined ? [] : [{ section, scope, key, ...origin, value: running.get(section, scope, key)?.value }],
  )
}

/**
 * The changes that take a revision back: what running has now becomes what was before it, but for what was amended
 * since.
 */
export function reverseChanges(running: RecordReader, made: Made): readonly Change[] {
  return made.map((change) => {
    const now = running.get(change.section, change.scope, change.key)?.value
    return changeTo(running, change, keepingAmendments(change.before, change.after, now))
  })
}

/** The change, if it is one, of some fields of a record that runs, staged by nobody. */
export function patchOf<N extends SectionName>(
  running: RecordReader,
  section: N,
  id: string,
  patch: Partial<SectionRecords[N]>,
): readonly Change[] {
  const key = { section, scope: CLUSTER, key: id }
  const change = changeTo(running, key, applyPatch(running.get(section, CLUSTER, id)?.value, patch))
  return changesNothing(change) ? [] : [change]
}

/** The change of a record that runs to this value, null for none; nobody's yet. */
export function changeTo(running: RecordReader, { section, scope, key }: RecordKey, value: unknown): Change {
  const before = running.get(section, scope, key)
  const revision = before?.revision ?? 0
  const after = value === null ? undefined : { value, revision }
  return { id: '', revision, section, scope, key, actor: '', endpoint: '', at: '', before, after }
}

/** A stored change as drivers see it. */
export function recordChange(change: Change): RecordChange {
  const { section, key: id, before, after } = change
  return { section, id, before: before?.value, after: after?.value } as RecordChange
}

/** The changes that a revision stores. */
export function recordChanges({ changes }: Revision): readonly RecordChange[] {
  return changes.map(
    ({ section, key: id, before, after }) =>
      // Sound: what revisions hold was a record of its section.
      ({ section, id, before: before ?? undefined, after: after ?? undefined }) as RecordChange,
  )
}
