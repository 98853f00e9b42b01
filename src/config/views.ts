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

/** The scope of all present sections, which are cluster-wide; settings of one node will have its id here. */
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

/** Typed records by the list they came from; a list is replaced when any of its records changes. */
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
 * Returns a view of running with `changes` applied, unaffected by later staging. Running itself cannot change during an
 * apply.
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

/** Returns one side of changes in the form of the journal. */
export function sideOf(changes: readonly Change[], side: 'before' | 'after'): readonly RecordChangeValue[] {
  return changes.map(({ section, scope, key, [side]: stored }) => ({
    section,
    scope,
    key,
    after: stored?.value ?? null,
  }))
}

/** Returns a view of running with the records that an unfinished apply attempted. */
export function attemptedView(running: RecordReader, attempted: readonly RecordChangeValue[]): ConfigView {
  return frozenView(
    running,
    attempted.map((change) => changeTo(running, change, change.after)),
  )
}

/** Returns the changes of the last revision. It may hold thousands of records, so callers should read it once. */
export function lastMade(store: Pick<ConfigStore, 'revisions' | 'revision'>): Made {
  const [made] = store.revisions(1)
  if (made?.revision !== store.revision) throw new Error(`revision ${store.revision} is not the last one`)
  return made.changes
}

type Made = Revision['changes']

/** Returns the changes of a revision in the form in which rights are judged. */
export function judgedAs(made: Made): readonly Judged[] {
  return made.map(({ origin = UNKNOWN, ...change }) => ({ ...change, ...origin, id: origin.changeId }))
}

/** The origin in revisions of versions that stored no authors. */
const UNKNOWN = { changeId: '', actor: '', endpoint: '', at: '' }

/**
 * Returns the changes of a revision that is taken back, to be staged again: with the present values, including later
 * amendments.
 */
export function pendingAgain(running: RecordReader, made: Made): readonly Again[] {
  return made.flatMap(({ section, scope, key, origin }) =>
    origin === undefined ? [] : [{ section, scope, key, ...origin, value: running.get(section, scope, key)?.value }],
  )
}

/**
 * Returns the changes that take a revision back: records get their values from before it, except for later amendments.
 */
export function reverseChanges(running: RecordReader, made: Made): readonly Change[] {
  return made.map((change) => {
    const now = running.get(change.section, change.scope, change.key)?.value
    return changeTo(running, change, keepingAmendments(change.before, change.after, now))
  })
}

/** Returns a change of some fields of a running record, staged by nobody; none if it changes nothing. */
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

/** Returns the change of a running record to this value, null to remove it; it has no author yet. */
export function changeTo(running: RecordReader, { section, scope, key }: RecordKey, value: unknown): Change {
  const before = running.get(section, scope, key)
  const revision = before?.revision ?? 0
  const after = value === null ? undefined : { value, revision }
  return { id: '', revision, section, scope, key, actor: '', endpoint: '', at: '', before, after }
}

/** Returns a stored change in the form that drivers use. */
export function recordChange(change: Change): RecordChange {
  const { section, key: id, before, after } = change
  return { section, id, before: before?.value, after: after?.value } as RecordChange
}

/** Returns the changes that a revision stores. */
export function recordChanges({ changes }: Revision): readonly RecordChange[] {
  return changes.map(
    ({ section, key: id, before, after }) =>
      // Sound: what revisions hold was a record of its section.
      ({ section, id, before: before ?? undefined, after: after ?? undefined }) as RecordChange,
  )
}
