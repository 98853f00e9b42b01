import type { Built, Entry } from './entry.ts'

/**
 * The configuration's home: running, the candidate as an overlay over it, change records, revisions and the apply
 * journal. One interface for every engine (LMDB on one node today, a cluster's store later): writes are asynchronous
 * and durable when they resolve, reads are synchronous from a local mirror.
 */
export interface ConfigStore {
  /** Revision that nodes agree on: 0 if nothing was ever applied. */
  readonly revision: number
  readonly running: RecordReader
  /** Rises whenever `running` may be another; counts within one run of the daemon. */
  readonly runningVersion: number
  /** What runs on every node that is not ahead of the others; on the only one, `running`. */
  readonly agreed: RecordReader
  /**
   * Calls `tell` in the turn in which a record of `agreed` is replaced, by any writer. More may follow in that turn: it
   * is for code that forgets what it derived from the record, and not for code that reads on.
   */
  follow(tell: TellRecord): void
  /** What runs on that node when it has followed. */
  runningOn(nodeId: string): RecordReader
  /** The records in which that node is ahead of what nodes agree on, after an apply of its own. */
  aheadOn(nodeId: string): readonly RecordKey[]
  /** Whether that apply was the last one of some node alone. */
  isAheadBy(applyId: string): boolean
  readonly candidate: RecordReader
  /** One entry per record in which the candidate differs from what nodes agree on, oldest first. */
  staged(): readonly Change[]
  /** The same, and what an apply takes back where a node is ahead by something that is not staged any more. */
  changes(): readonly Change[]
  /** How many there are, however many they are. */
  readonly changeCount: number
  isFrozen(changeId: string): boolean
  /** What an apply has frozen; undefined when it has ended, or never froze anything. */
  frozen(applyId: string): readonly Change[] | undefined
  /** The apply that has frozen something and has not ended, of whatever node. */
  underWay(): Frozen | undefined
  /**
   * Runs `build` when nobody else writes, writes what it decided, and lets the next one build when that is durable:
   * what it read is still true when it is written. It may run again, when another node has written first, so whatever
   * it does besides reading belongs into `afterwards`.
   */
  edit<T>(build: () => Built<T> | Promise<Built<T>>): Promise<T>
  /** The same for what needs no look at the store. */
  write(entry: Entry): Promise<void>
  /** Written durably before an apply touches the machine; its presence at start means the apply did not finish. */
  openJournal(journal: Journal): Promise<void>
  journal(): Journal | undefined
  /** Closes the journal of this apply; that of another one stays. What was in doubt before it is in doubt again. */
  closeJournal(applyId: string): Promise<void>
  /** The revision that waits to be confirmed, the last one. */
  unconfirmed(): Unconfirmed | undefined
  /** Number of the oldest revision that is kept; without any, that of the next. */
  readonly oldestRevision: number
  /** What `revisions` answers without its changes, however many they are. */
  revisionHeaders(limit: number, before?: number): readonly (RevisionHeader & { readonly count: number })[]
  /** Newest first; those before `before` when it is given. */
  revisions(limit: number, before?: number): readonly Revision[]
  getMeta(key: string): unknown
  putMeta(key: string, value: unknown): Promise<void>
  /** Small durable records beside the configuration, such as login sessions. */
  readonly sessions: SharedTable
  /** The open editing session, and which node holds what is edited in it. */
  readonly openTransactions: SharedTable
  /** What was edited in the one that this node holds. */
  readonly transactions: SideTable
  /** Long work, under way and done. */
  readonly jobs: SideTable
  /** What happened lately, in order. */
  readonly events: SideTable
  /** What this node alerts of, and the messages that wait to be sent. */
  readonly alerts: SideTable
  /** What this node has to tell the others of sessions, tokens and used codes. */
  readonly owed: SideTable
  /** Tokens that programs log in with; not part of any backup. */
  readonly apiTokens: SharedTable
  /** What must not be accepted twice, by user. */
  readonly signIns: SharedTable
  /** Nodes of the cluster; empty without one. */
  readonly members: SharedTable
  /** What nodes may join with. */
  readonly joinTokens: SharedTable
  /** Alerts that nobody wants to hear of for a while. */
  readonly silences: SharedTable
  /** Why nothing can be written any more by this process; undefined as long as the disk has not failed. */
  readonly failure: string | undefined
  close(): Promise<void>
}

/** Where a record lives. `scope` is a node id for settings of one node, '' for the cluster. */
export interface RecordKey {
  readonly section: string
  readonly scope: string
  readonly key: string
}

/** Told of the record that became another one; of undefined when all may have. */
export type TellRecord = (key: RecordKey | undefined) => void

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
  /** The last author. */
  readonly actor: string
  /** Others who have changed the record since it became pending; absent if there are none. */
  readonly others?: readonly string[]
  readonly endpoint: string
  /** ISO 8601. */
  readonly at: string
}

export interface Change extends RecordKey, Origin {
  readonly id: string
  /** Revision of the write that made it; a removal has one too. */
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

/** What nodes have to know of an apply that another node was asked for. */
export interface Asked {
  /** Id of the leading node. */
  readonly nodeId: string
  readonly header: RevisionHeader
  /** See PlanOptions. */
  readonly atLeast: 'runtime' | 'restart'
}

/** What an apply makes running, until it ends. */
export interface Frozen {
  readonly applyId: string
  readonly changes: readonly Change[]
  /** Absent on the only node. */
  readonly asked?: Asked
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
  /** Earlier applies that could not be taken back entirely. It becomes the journal again when this one closes. */
  readonly inDoubt?: Journal
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
  readonly deadline: Deadline
  /**
   * For an apply over several nodes: the node whose deadline it is. Others give as much time from when they learn of
   * it.
   */
  readonly among?: { readonly nodeId: string; readonly within_s: number }
}

/** In the time since the machine was started, which no change of the clock moves. */
export interface Deadline {
  readonly bootId: string
  readonly uptime_ms: number
}

export interface SideTable {
  entries(): readonly { readonly key: string; readonly value: unknown }[]
  put(key: string, value: unknown): Promise<void>
  remove(keys: readonly string[]): Promise<void>
  /** All of it, or nothing. */
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
   * Writes what `build` answers, all of it or nothing, and answers whether there was something. `build` decides by what
   * is there at that moment, and runs again when another node was first.
   */
  update(build: () => RowChanges | undefined): Promise<boolean>
  /** From now on `tell` hears of everything that is written, by whichever node. */
  follow(tell: (changes: RowChanges) => void): void
}
