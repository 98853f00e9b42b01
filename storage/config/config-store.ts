import type { Patch } from './amendment.ts'

/**
 * The configuration's home: running, the candidate as an overlay over it, change records, revisions and the apply
 * journal. One interface for every engine (LMDB on one node today, a cluster's store later): writes are asynchronous
 * and durable when they resolve, reads are synchronous from a local mirror.
 */
export interface ConfigStore extends ConfigWriter {
  /** The running configuration's revision: 0 when nothing was ever applied. */
  readonly revision: number
  readonly running: RecordReader
  readonly candidate: RecordReader
  /** One entry per record in which candidate and running differ, oldest first. */
  changes(): readonly Change[]
  isFrozen(changeId: string): boolean
  /**
   * Runs `work` when nobody else writes, and lets the next one write when its promise is settled: what it reads stays true
   * until it has written. Inside, only the writer that it is given may be used; each method of the store waits for its own turn.
   */
  exclusively<T>(work: (writer: ConfigWriter) => Promise<T>): Promise<T>
  /** Written durably before an apply touches the machine; its presence at start means the apply did not finish. */
  openJournal(journal: Journal): Promise<void>
  journal(): Journal | undefined
  closeJournal(): Promise<void>
  /** The revision that waits to be confirmed, the last one. */
  unconfirmed(): Unconfirmed | undefined
  confirm(): Promise<void>
  /** Number of the oldest revision that is kept; without any, that of the next. */
  readonly oldestRevision: number
  /** What `revisions` answers without its changes, however many they are. */
  revisionHeaders(limit: number, before?: number): readonly (RevisionHeader & { readonly count: number })[]
  /** Newest first; those before `before` when it is given. */
  revisions(limit: number, before?: number): readonly Revision[]
  getMeta(key: string): unknown
  putMeta(key: string, value: unknown): Promise<void>
  /** Small durable records beside the configuration, such as login sessions. */
  readonly sessions: SideTable
  /** Editing sessions, with what was edited in them. */
  readonly transactions: SideTable
  /** Long work, under way and done. */
  readonly jobs: SideTable
  /** What happened lately, in order. */
  readonly events: SideTable
  /** Tokens that programs log in with; not part of any backup. */
  readonly apiTokens: SideTable
  /** What must not be accepted twice, by user. */
  readonly signIns: SideTable
  close(): Promise<void>
}

/** What changes the configuration. Each is one durable transaction. */
export interface ConfigWriter {
  /** Writes all of `writes` to the candidate, or none. A record that equals running again is no change any more. */
  stage(writes: readonly Write[], origin: Origin): Promise<void>
  /** Takes the named changes back. Frozen changes cannot be: they are being made running. */
  discard(changeIds: readonly string[]): Promise<void>
  /**
   * Fixes what an apply will make running. While frozen, whatever is staged stays a change of its own, even when it
   * equals what is running now. Ends with `promote` or `thaw`.
   */
  freeze(select: (change: Change) => boolean): Promise<readonly Change[]>
  /** The apply came to nothing: changes that change nothing any more are dropped. */
  thaw(): Promise<void>
  /** Makes frozen changes running, records the revision, closes the journal and says whether it waits for a confirmation, in one transaction. */
  promote(frozen: readonly Change[], revision: RevisionHeader, options?: PromoteOptions): Promise<void>
  /**
   * Changes one record at once, in running and in what is pending for it, and is no revision: for what people do to their
   * own account. Not between `freeze` and its end.
   */
  amend(key: RecordKey, patch: Patch): Promise<void>
}

/** Where a record lives. `scope` is a node id for settings of one node, '' for the cluster. */
export interface RecordKey {
  readonly section: string
  readonly scope: string
  readonly key: string
}

export interface StoredRecord {
  /** A JSON value; never changed in place. */
  readonly value: unknown
  /** Rises with every write of any record; the record's entity tag. */
  readonly revision: number
}

export interface RecordReader {
  get(section: string, scope: string, key: string): StoredRecord | undefined
  /** Ordered by key, so that everything rendered from it is independent of the order of edits. */
  list(section: string, scope: string): readonly StoredRecord[]
}

export interface Write extends RecordKey {
  /** undefined removes the record. */
  readonly value: unknown
}

export interface Origin {
  readonly actor: string
  readonly endpoint: string
  /** ISO 8601. */
  readonly at: string
}

export interface Change extends RecordKey, Origin {
  readonly id: string
  /** Of the write that made it; a removal has one too. */
  readonly revision: number
  readonly before: StoredRecord | undefined
  readonly after: StoredRecord | undefined
}

export interface RevisionHeader {
  readonly applyId: string
  readonly revision: number
  readonly by: string
  readonly at: string
  readonly comment: string
}

export interface Revision extends RevisionHeader {
  readonly changes: readonly RevisionChange[]
}

export interface RevisionChange extends RecordKey {
  readonly before: unknown
  readonly after: unknown
  /** Whose it was while it was pending; absent for what the daemon took back, and in revisions of earlier versions. */
  readonly origin?: Origin & { readonly changeId: string }
}

/** A change that becomes pending again, under its own id and with its author. */
export interface Again extends Write, Origin {
  readonly changeId: string
}

export interface Journal extends RevisionHeader {
  readonly steps: readonly string[]
  /** Names of the drivers whose part of the machine is in doubt; without them, all. */
  readonly drivers?: readonly string[]
  /** What recovery must know of the changes that may be on the machine. */
  readonly attempted?: readonly RecordChangeValue[]
}

export interface PromoteOptions {
  /** The revision waits to be confirmed. */
  readonly unconfirmed?: Unconfirmed | undefined
  /** The machine has yet to follow: the journal stays open. */
  readonly keepsJournal?: boolean
  /** Becomes pending in the same transaction, unless the record has a pending change. */
  readonly again?: readonly Again[]
  /** The changes were never pending: what is pending for their records keeps what it wants itself, and takes this over in other fields. */
  readonly pendingFollows?: Patch | undefined
}

/** A record and what an apply wanted it to be; null: gone. */
export interface RecordChangeValue extends RecordKey {
  readonly after: unknown
}

/** A revision that is taken back unless somebody confirms it in time. */
export interface Unconfirmed {
  readonly applyId: string
  readonly revision: number
  readonly by: string
  /** ISO 8601, for people. */
  readonly confirmBy: string
  /** In the time since the machine was started, which no change of the clock moves. */
  readonly deadline: { readonly bootId: string; readonly uptime_ms: number }
}

export interface SideTable {
  entries(): readonly { readonly key: string; readonly value: unknown }[]
  put(key: string, value: unknown): Promise<void>
  remove(keys: readonly string[]): Promise<void>
  /** All of it, or nothing. */
  write(puts: readonly { readonly key: string; readonly value: unknown }[], removed: readonly string[]): Promise<void>
}
