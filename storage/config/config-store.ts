import type { Built, Entry } from './entry.ts'

/**
 * The store of the configuration: running, the candidate as an overlay over it, revisions and the apply journal. Writes
 * are asynchronous and durable when they resolve; reads are synchronous from a local mirror.
 */
export interface ConfigStore {
  /** Revision that the nodes agree on: 0 if nothing was ever applied. */
  readonly revision: number
  readonly running: RecordReader
  /** Increases whenever `running` may have changed; counts within one run of the daemon. */
  readonly runningVersion: number
  /**
   * The configuration that runs on every node that is not ahead of the others; the same as `running` without a cluster.
   */
  readonly agreed: RecordReader
  /**
   * Calls `tell` in the turn in which any writer replaces a record of `agreed`. More replacements may follow in that
   * turn, so `tell` should drop what was derived from the record, and read nothing.
   */
  follow(tell: TellRecord): void
  /** The configuration that runs on that node once it has caught up. */
  runningOn(nodeId: string): RecordReader
  /** The records in which that node is ahead of the others, after an apply of its own. */
  aheadOn(nodeId: string): readonly RecordKey[]
  /** Whether that apply was the last one of some node alone. */
  isAheadBy(applyId: string): boolean
  readonly candidate: RecordReader
  /** One entry per record in which the candidate differs from the agreed configuration, oldest first. */
  staged(): readonly Change[]
  /**
   * The staged changes, and those by which an apply takes back records in which a node is ahead and nothing is staged.
   */
  changes(): readonly Change[]
  /** Number of `changes()`, computed without listing them. */
  readonly changeCount: number
  isFrozen(changeId: string): boolean
  /** The changes that an apply has frozen; undefined when it has ended, or never froze any. */
  frozen(applyId: string): readonly Change[] | undefined
  /** The apply of any node that has frozen changes and has not ended. */
  underWay(): Frozen | undefined
  /**
   * Runs `build` while nothing else is written, writes its result, and starts the next `build` when that is durable:
   * what `build` read is still true when its result is written. It may run again if another node wrote first, so all
   * its side effects belong in `afterwards`.
   */
  edit<T>(build: () => Built<T> | Promise<Built<T>>): Promise<T>
  /** Like `edit`, for an entry that does not depend on the store. */
  write(entry: Entry): Promise<void>
  /** Written durably before an apply touches the machine; its presence at start means that the apply did not finish. */
  openJournal(journal: Journal): Promise<void>
  journal(): Journal | undefined
  /** Closes the journal of this apply; another one's stays. Applies that were in doubt before it are in doubt again. */
  closeJournal(applyId: string): Promise<void>
  /** The latest revision, if it waits for confirmation. */
  unconfirmed(): Unconfirmed | undefined
  /** Number of the oldest kept revision; if there is none, that of the next. */
  readonly oldestRevision: number
  /** Like `revisions` without the changes, whose number does not matter for the time this takes. */
  revisionHeaders(limit: number, before?: number): readonly (RevisionHeader & { readonly count: number })[]
  /** Newest first; those before `before` when it is given. */
  revisions(limit: number, before?: number): readonly Revision[]
  getMeta(key: string): unknown
  putMeta(key: string, value: unknown): Promise<void>
  /** Small durable records beside the configuration, such as login sessions. */
  readonly sessions: SharedTable
  /** The open editing session, and the node that holds its edits. */
  readonly openTransactions: SharedTable
  /** The edits of the session that this node holds. */
  readonly transactions: SideTable
  /** Long jobs, running and finished. */
  readonly jobs: SideTable
  /** Recent events, in order. */
  readonly events: SideTable
  /** This node's alerts, and messages waiting to be sent. */
  readonly alerts: SideTable
  /** Changes to sessions, tokens and used codes that this node must pass on to the others. */
  readonly owed: SideTable
  /** Tokens with which programs log in; not part of any backup. */
  readonly apiTokens: SharedTable
  /** One-time values that must not be accepted twice, by user. */
  readonly signIns: SharedTable
  /** Nodes of the cluster; empty without one. */
  readonly members: SharedTable
  /** Tokens with which nodes may join. */
  readonly joinTokens: SharedTable
  /** Silences: alerts that are muted for a while. */
  readonly silences: SharedTable
  /** Why this process cannot write any more; undefined while the disk has not failed. */
  readonly failure: string | undefined
  close(): Promise<void>
}

/** The address of a record. `scope` is a node id for settings of one node, '' for the cluster. */
export interface RecordKey {
  readonly section: string
  readonly scope: string
  readonly key: string
}

/** Called with the record that changed; with undefined when all may have. */
export type TellRecord = (key: RecordKey | undefined) => void

export interface StoredRecord {
  /** A JSON value; never changed in place. */
  readonly value: unknown
  /** Increases with every write of any record; the record's entity tag. */
  readonly revision: number
}

export interface RecordReader {
  get(section: string, scope: string, key: string): StoredRecord | undefined
  /** Sorted by key, so that rendered files do not depend on the order of edits. */
  list(section: string, scope: string): readonly StoredRecord[]
}

export interface Write extends RecordKey {
  /** undefined removes the record. */
  readonly value: unknown
}

export interface Origin {
  /** Last author. */
  readonly actor: string
  /** Other authors since the record became pending; absent if there are none. */
  readonly others?: readonly string[]
  readonly endpoint: string
  /** ISO 8601. */
  readonly at: string
}

export interface Change extends RecordKey, Origin {
  readonly id: string
  /** Revision of the write that made the change; a removal has one too. */
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

/** Facts about an apply that the nodes need if another node leads it. */
export interface Asked {
  /** Id of the leading node. */
  readonly nodeId: string
  readonly header: RevisionHeader
  /** See PlanOptions. */
  readonly atLeast: 'runtime' | 'restart'
}

/** The changes that an apply makes running, until it ends. */
export interface Frozen {
  readonly applyId: string
  readonly changes: readonly Change[]
  /** Absent without a cluster. */
  readonly asked?: Asked
}

export interface Revision extends RevisionHeader {
  readonly changes: readonly RevisionChange[]
}

export interface RevisionChange extends RecordKey {
  readonly before: unknown
  readonly after: unknown
  /**
   * Author and endpoint while the change was pending; absent for what the daemon took back, and in revisions of earlier
   * versions.
   */
  readonly origin?: Origin & { readonly changeId: string }
}

/** A change that becomes pending again, under its own id and with its author. */
export interface Again extends Write, Origin {
  readonly changeId: string
}

export interface Journal extends RevisionHeader {
  readonly steps: readonly string[]
  /** Names of the drivers whose part of the machine is in doubt; if absent, all. */
  readonly drivers?: readonly string[]
  /** The changes that may be on the machine, for recovery. */
  readonly attempted?: readonly RecordChangeValue[]
  /** Earlier applies that could not be undone completely. It becomes the journal again when this one closes. */
  readonly inDoubt?: Journal
}

/** A record and the value that an apply wanted for it; null: removed. */
export interface RecordChangeValue extends RecordKey {
  readonly after: unknown
}

/** A revision that is taken back unless it is confirmed in time. */
export interface Unconfirmed {
  readonly applyId: string
  readonly revision: number
  readonly by: string
  /** ISO 8601, for people. */
  readonly confirmBy: string
  readonly deadline: Deadline
  /**
   * For an apply over several nodes: the node that keeps the deadline. Others allow the same time from when they learn
   * of it.
   */
  readonly among?: { readonly nodeId: string; readonly within_s: number }
}

/** Time since boot, which setting the clock does not change. */
export interface Deadline {
  readonly bootId: string
  readonly uptime_ms: number
}

export interface SideTable {
  entries(): readonly { readonly key: string; readonly value: unknown }[]
  put(key: string, value: unknown): Promise<void>
  remove(keys: readonly string[]): Promise<void>
  /** Writes all rows, or none. */
  write(puts: readonly Put[], removed: readonly string[]): Promise<void>
}

export interface Put {
  readonly key: string
  readonly value: unknown
}

export interface RowChanges {
  readonly puts: readonly Put[]
  readonly removed: readonly string[]
}

/** A side table that the nodes of a cluster share. */
export interface SharedTable extends SideTable {
  /**
   * Writes the result of `build`, all of it or nothing, and returns whether there was one. `build` decides by the
   * current rows, and runs again if another node wrote first.
   */
  update(build: () => RowChanges | undefined): Promise<boolean>
  /** Calls `tell` with every later write, by any node. */
  follow(tell: (changes: RowChanges) => void): void
}
