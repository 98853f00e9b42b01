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
 * author), so that nodes which fold the same entries over the same state have the same state.
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

/** Pending changes come and go, all or none. A record that equals running again is no change any more. */
export interface StageEntry {
  readonly op: 'stage'
  readonly origin: Origin
  readonly writes: readonly StagedWrite[]
  /** Ids of changes that are taken back. Frozen ones cannot be: they are being made running. */
  readonly discards: readonly string[]
  /** Id of the open transaction whose edits these are: it is open no longer. */
  readonly commits?: string | undefined
}

export interface StagedWrite extends Write {
  /** Id of the change, unless the record has a pending one: that keeps its own. */
  readonly changeId: string
}

/**
 * Fixes what an apply will make running. While frozen, whatever is staged stays a change of its own, even when it
 * equals what is running now. Ends with `promote` or `thaw` of the same `applyId`.
 */
export interface FreezeEntry {
  readonly op: 'freeze'
  readonly applyId: string
  /** Ids of pending changes, or changes that nobody staged. */
  readonly changes: readonly string[] | readonly Change[]
  /** For an apply over several nodes. */
  readonly asked?: Asked | undefined
}

/** The apply came to nothing: changes that change nothing any more are dropped. */
export interface ThawEntry {
  readonly op: 'thaw'
  readonly applyId: string
}

/** Makes changes running, records the revision, closes the journal and says whether it waits for a confirmation. */
export interface PromoteEntry {
  readonly op: 'promote'
  readonly header: RevisionHeader
  /** What was never frozen; without it, what was frozen under the header's `applyId`. */
  readonly changes?: readonly Change[] | undefined
  readonly unconfirmed?: Unconfirmed | undefined
  /** Only this node has it from then on: the changes stay pending for the others, and there is no revision. */
  readonly onlyOn?: string | undefined
  /** The machine has yet to follow: the journal stays open. */
  readonly keepsJournal?: boolean
  /** Becomes pending in the same transaction, unless the record has a pending change. */
  readonly again?: readonly Again[]
  /**
   * Nobody staged the changes: what is pending for their records keeps what it wants itself, and takes them over in
   * other fields.
   */
  readonly unstaged?: boolean | undefined
}

/** The apply stays. Nothing happens when it is not the one that waits. */
export interface ConfirmEntry {
  readonly op: 'confirm'
  readonly applyId: string
}

/**
 * Changes one record at once, in running and in what is pending for it, and is no revision: for what people do to their
 * own account. Not between `freeze` and its end.
 */
export interface AmendEntry {
  readonly op: 'amend'
  readonly key: RecordKey
  readonly patch: Patch
}

/** Changes rows of a table that stands beside the configuration, such as sessions. */
export interface PutEntry extends RowChanges {
  readonly op: 'put'
  readonly table: SharedTableName
}

/** Changes nothing: what the writer had behind an earlier entry, for others to compare with what they had. */
export interface CompareEntry {
  readonly op: 'compare'
  readonly position: number
  readonly digest: string
}

/** What is left of a cluster goes on by itself: from here on its history is another one. */
export interface TakeoverEntry {
  readonly op: 'takeover'
  readonly takeover: Takeover
}

export interface Takeover {
  /** One more than that of the previous history. */
  readonly epoch: number
  /** Tells this history from that of a partner who has taken over as well. */
  readonly id: string
  readonly nodeId: string
  /** Number of the last entry that both histories have. */
  readonly since: number
  /** ISO 8601. */
  readonly at: string
  /** The user who asked for it; `fulcrum` for the preferred node. */
  readonly by: string
  readonly reason: string
}

/** All nodes know the kinds of entries up to this level: from here on they may be written. */
export interface LevelEntry {
  readonly op: 'level'
  readonly level: number
}

/**
 * Brings entries into one order. On one node that is the order in which they come; in a cluster all nodes agree on it
 * and fold each other's entries as well.
 */
export interface EntryLog {
  /** Id of this node; undefined on the only one. */
  readonly nodeId?: string
  /** Number of the last entry that is folded here. */
  readonly position: number
  /**
   * Resolves when the entry is folded here as the next one after `since`.
   *
   * @throws {LostRaceError} when another was first: that one is folded, and what was decided before may be wrong now.
   */
  append(entry: Entry, since: number): Promise<void>
}

/** Another node has written first. Nothing of the entry was kept. */
export class LostRaceError extends Error {
  override readonly name = 'LostRaceError'
  /** What the author of the edit is told if it lost again and again. */
  readonly refusal: Error

  constructor(refusal: Error) {
    super('another node has written first')
    this.refusal = refusal
  }
}

/** What an edit decided. */
export interface Built<T> {
  readonly result: T
  /** What is written; without it nothing is. */
  readonly entry?: Entry | undefined
  /** Done in the same turn, once the entry is durable. */
  readonly afterwards?: (() => Promise<void>) | undefined
}

/** `newId` names changes of records that have none pending. */
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
