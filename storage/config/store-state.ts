import type { RowWrite } from './checked-table.ts'
import type { Frozen, Put, RecordKey, Revision, StoredRecord, Unconfirmed } from './config-store.ts'
import type { Entry } from './entry.ts'
import { decode, encode } from './keys.ts'
import type { ConfigTables, SharedTableName } from './tables.ts'

/** Prefix in `meta` of the changes frozen by an apply of a cluster. */
export const FROZEN_PREFIX = 'frozen '
const BEHIND_FROZEN = 'frozen!'

/** A running record. */
export interface RunningRow extends RecordKey {
  readonly stored: StoredRecord
}

/** A pending record of the overlay; without `stored` it hides the running one. */
export interface OverlayEntry extends RecordKey {
  readonly stored: StoredRecord | undefined
  readonly revision: number
  readonly changeId: string
  readonly actor: string
  readonly others?: readonly string[]
  readonly endpoint: string
  readonly at: string
}

/** Returns the other authors of a pending change that `actor` overwrites. */
export function othersOf(pending: OverlayEntry | undefined, actor: string): { readonly others?: readonly string[] } {
  const all = pending === undefined ? [] : [...(pending.others ?? []), pending.actor]
  const others = [...new Set(all)].filter((one) => one !== actor)
  return others.length === 0 ? {} : { others }
}

/** A row of a table beside the configuration. */
export interface SharedRow extends Put {
  readonly table: SharedTableName
}

/** The effect of all entries on a store, as data: stores that folded the same entries have the same. */
export interface StoreRecords {
  readonly sequence: number
  readonly revision: number
  readonly running: readonly RunningRow[]
  readonly candidate: readonly OverlayEntry[]
  readonly frozen: readonly Frozen[]
  readonly shared: readonly SharedRow[]
  /** Absent when no revision waits for confirmation. */
  readonly unconfirmed?: Unconfirmed
}

export interface StoreState extends StoreRecords {
  /** Newest first. */
  readonly revisions: readonly Revision[]
}

export function frozenRows({ meta }: ConfigTables): readonly Frozen[] {
  const rows = meta.rows({ start: FROZEN_PREFIX, end: BEHIND_FROZEN })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by the fold only
  return [...rows].map(({ value }) => value as Frozen)
}

/** Returns the changes to the frozen rows by an entry. Another node may end the apply while this daemon is down. */
export function frozenChanges({ meta }: ConfigTables, entry: Entry, frozen: Frozen | undefined): readonly RowWrite[] {
  if (frozen !== undefined) return [meta.put(`${FROZEN_PREFIX}${frozen.applyId}`, frozen)]
  if (entry.op === 'thaw') return [meta.remove(`${FROZEN_PREFIX}${entry.applyId}`)]
  return entry.op === 'promote' ? [meta.remove(`${FROZEN_PREFIX}${entry.header.applyId}`)] : []
}

export const unconfirmedIn = ({ meta }: ConfigTables): Unconfirmed | undefined =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by the fold only
  meta.get('unconfirmed') as Unconfirmed | undefined

export const unconfirmedRow = ({ meta }: ConfigTables, unconfirmed: Unconfirmed | undefined): RowWrite =>
  unconfirmed === undefined ? meta.remove('unconfirmed') : meta.put('unconfirmed', unconfirmed)

/** A pending change as a row. */
export function overlayRow(tables: ConfigTables, key: RecordKey, entry: OverlayEntry | undefined): RowWrite {
  const { candidate } = tables
  if (entry === undefined) return candidate.remove(encode(key))
  const { stored, revision, changeId, actor, others, endpoint, at } = entry
  const value = stored === undefined ? {} : { value: stored.value }
  return candidate.put(encode(key), { revision, changeId, actor, ...(others && { others }), endpoint, at, ...value })
}

/** Reads the pending changes of the table. */
export function overlayOf({ candidate }: ConfigTables): readonly OverlayEntry[] {
  return [...candidate.rows()].map(({ key, value: { value, ...row } }) => {
    const stored = value === undefined ? undefined : { value, revision: row.revision }
    return { ...decode(key), ...row, stored }
  })
}

export function runningOf({ running }: ConfigTables): readonly RunningRow[] {
  return [...running.rows()].map(({ key, value }) => ({ ...decode(key), stored: value }))
}

/** Returns the writes that turn the configuration's tables into the state, whatever they contain. */
export function stateRows(tables: ConfigTables, state: StoreState): readonly RowWrite[] {
  const { running, candidate, revisions } = tables
  return [
    ...[...running.keys()].map((key) => running.remove(key)),
    ...[...candidate.keys()].map((key) => candidate.remove(key)),
    ...state.running.map((row) => running.put(encode(row), row.stored)),
    ...state.candidate.map((entry) => overlayRow(tables, entry, entry)),
    ...revisions.replaced(state.revisions),
  ]
}
