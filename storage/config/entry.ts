import type { Patch } from './amendment.ts'
import type {
  Again,
  Asked,
  Change,
  Origin,
  RecordKey,
  RevisionHeader,
  RowChanges,
  Unconfirmed,
  Write,
} from './config-store.ts'
import type { SharedTableName } from './tables.ts'

/**
 * One operation on the configuration, as data. Its writer decides everything that could differ elsewhere (ids, times,
 * author), so that nodes which fold the same entries over the same state reach the same state.
 */
export type Entry =
  | StageEntry
  | FreezeEntry
  | ThawEntry
  | PromoteEntry
  | ConfirmEntry
  | AmendEntry
  | PutEntry
  | CompareEntry
  | TakeoverEntry
  | LevelEntry

/** Adds and removes pending changes, all or none. A record that equals running again is no longer a change. */
export interface StageEntry {
  readonly op: 'stage'
  readonly origin: Origin
  readonly writes: readonly StagedWrite[]
  /** Ids of changes to discard. Frozen ones cannot be discarded, because an apply is making them running. */
  readonly discards: readonly string[]
  /** Id of the open transaction whose edits these are, which ends it. */
  readonly commits?: string | undefined
}

export interface StagedWrite extends Write {
  /** Id of the change, unless the record already has a pending one, which keeps its id. */
  readonly changeId: string
}

/**
 * Fixes the changes that an apply will make running. While they are frozen, later edits of these records are changes of
 * their own, even if they equal running. Ended by `promote` or `thaw` of the same `applyId`.
 */
export interface FreezeEntry {
  readonly op: 'freeze'
  readonly applyId: string
  /** Ids of pending changes, or changes that were never staged. */
  readonly changes: readonly string[] | readonly Change[]
  /** Only for an apply over several nodes. */
  readonly asked?: Asked | undefined
}

/** Ends an apply without effect: changes that no longer change anything are dropped. */
export interface ThawEntry {
  readonly op: 'thaw'
  readonly applyId: string
}

/**
 * Makes changes running, records the revision, closes the journal and sets whether the revision waits for confirmation.
 */
export interface PromoteEntry {
  readonly op: 'promote'
  readonly header: RevisionHeader
  /** Changes that were never frozen; if absent, those frozen under the header's `applyId`. */
  readonly changes?: readonly Change[] | undefined
  readonly unconfirmed?: Unconfirmed | undefined
  /** The only node that gets the changes: they stay pending for the others, and there is no revision. */
  readonly onlyOn?: string | undefined
  /** The machine must still be changed, so the journal stays open. */
  readonly keepsJournal?: boolean
  /** Changes that become pending in the same transaction, unless their record has a pending change. */
  readonly again?: readonly Again[]
  /**
   * The changes were never staged: pending changes of their records keep their own values, and take over the other
   * fields.
   */
  readonly unstaged?: boolean | undefined
}

/** Keeps the apply. Has no effect unless this apply waits for confirmation. */
export interface ConfirmEntry {
  readonly op: 'confirm'
  readonly applyId: string
}

/**
 * Changes one record at once, in running and in its pending change, without a revision: for changes to one's own
 * account. Not allowed between `freeze` and its end.
 */
export interface AmendEntry {
  readonly op: 'amend'
  readonly key: RecordKey
  readonly patch: Patch
}

/** Changes rows of a table beside the configuration, such as sessions. */
export interface PutEntry extends RowChanges {
  readonly op: 'put'
  readonly table: SharedTableName
}

/** Changes nothing: contains the writer's digest after an earlier entry, for other nodes to compare with theirs. */
export interface CompareEntry {
  readonly op: 'compare'
  readonly position: number
  readonly digest: string
}

/** The rest of a cluster continues alone: from here on it has a history of its own. */
export interface TakeoverEntry {
  readonly op: 'takeover'
  readonly takeover: Takeover
}

export interface Takeover {
  /** The previous history's epoch plus one. */
  readonly epoch: number
  /** Distinguishes this history from that of a partner that has taken over as well. */
  readonly id: string
  readonly nodeId: string
  /** Number of the last entry that both histories share. */
  readonly since: number
  /** ISO 8601. */
  readonly at: string
  /** The user who requested the takeover; `fulcrum` for the preferred node. */
  readonly by: string
  readonly reason: string
}

/** All nodes support the kinds of entries up to this level, which may be written from here on. */
export interface LevelEntry {
  readonly op: 'level'
  readonly level: number
}

/**
 * Puts entries into one order. Without a cluster that is the order of arrival; in a cluster all nodes agree on it and
 * fold each other's entries as well.
 */
export interface EntryLog {
  /** Id of this node; undefined without a cluster. */
  readonly nodeId?: string
  /** Number of the last entry that is folded here. */
  readonly position: number
  /**
   * Resolves when the entry is folded here as the next one after `since`.
   *
   * @throws {LostRaceError} when another entry was first: that one is folded, and the earlier decision may be outdated.
   */
  append(entry: Entry, since: number): Promise<void>
  /** Folds what other nodes have written before this call, unless too few of them answer. */
  catchUp(): Promise<void>
}

/** Another node wrote first. Nothing of the entry was stored. */
export class LostRaceError extends Error {
  override readonly name = 'LostRaceError'
  /** The error for the author of the edit after repeated losses. */
  readonly refusal: Error

  constructor(refusal: Error) {
    super('another node has written first')
    this.refusal = refusal
  }
}

/** The decision of an edit. */
export interface Built<T> {
  readonly result: T
  /** The entry to write; if absent, nothing is written. */
  readonly entry?: Entry | undefined
  /** Runs in the same turn, once the entry is durable. */
  readonly afterwards?: (() => Promise<void>) | undefined
}

/** Makes the entry that stages writes; `newId` names changes of records without a pending one. */
export function staging(
  origin: Origin,
  writes: readonly Write[],
  discards: readonly string[],
  newId: () => string,
  commits?: string,
): StageEntry | undefined {
  if (writes.length === 0 && discards.length === 0 && commits === undefined) return undefined
  const staged = writes.map((write) => ({ ...write, changeId: newId() }))
  return { op: 'stage', origin, writes: staged, discards, ...(commits === undefined ? {} : { commits }) }
}
