import { mkdirSync } from 'node:fs'
import type { Database, RootDatabase } from 'lmdb'
import { closeEnvironment, openDatabase, openEnvironment, refuseReads, usedBytes } from '../env.ts'
import { assertWholeFile } from '../file-check.ts'
import { ROOM_BYTES_MIN, ROOM_BYTES_PER_RECORD, ROOM_BYTES_RESERVED } from '../limits.ts'
import { FileRoom, makeLockFile, StoreFailedError } from '../room.ts'
import { CheckedTable, type RowKey, type RowWrite, type Surveyable } from './checked-table.ts'
import type { Origin, StoredRecord } from './config-store.ts'
import type { StoreKey } from './keys.ts'
import { MetaTable } from './meta-table.ts'
import { RevisionTable } from './revision-table.ts'

/** Version of the layout below; raised by one with each migration. */
export const CONFIG_SCHEMA = 2
/** The layout without checksums. */
const UNCHECKED_SCHEMA = 1
/** Key of the version, whose row has no checksum, so that every version can read it. */
const SCHEMA_KEY = 'schema'
const DATABASES_MAX = 24
/** For so few rows it is not worthwhile to measure the trees. */
const FEW_ROWS = 16
/** Prefix in `meta` of values that callers store under their own keys. */
export const CALLER_PREFIX = 'caller '

/** A pending change as stored; without `value` it removes the record. */
export interface OverlayRow extends Origin {
  readonly value?: unknown
  readonly revision: number
  readonly changeId: string
}

/** Tables that the nodes of a cluster share. */
export const SHARED_TABLES = [
  'sessions',
  'apiTokens',
  'signIns',
  'openTransactions',
  'members',
  'joinTokens',
  'silences',
  'ahead',
] as const
export type SharedTableName = (typeof SHARED_TABLES)[number]
export const SIDE_TABLES = [...SHARED_TABLES, 'transactions', 'jobs', 'events', 'alerts', 'owed'] as const
export type SideTableName = (typeof SIDE_TABLES)[number]

export interface CommitOptions {
  /** Whether to leave the reserve untouched, with which people can still log in and free room on a full disk. */
  readonly keepsReserve?: boolean
}

/**
 * The tables of the configuration. All rows are JSON with a checksum; all keys are strings, or [section, scope, key]
 * for records.
 *
 *   running     record key → {value, revision}
 *   candidate   record key → {value?, revision, changeId, actor, others?, endpoint, at}; no value = removed
 *   revisions   revision, zero-padded → Revision
 *   headers     revision, zero-padded → RevisionHeader with the number of changes
 *   sessions    session id → whatever the caller stores; the other side tables likewise
 *   meta        schema, sequence, revision, journal, unconfirmed, and values that callers store under their own keys
 *
 * Commits are flushed before their promise resolves (overlappingSync off): an answered write survives power loss.
 */
export class ConfigTables {
  readonly running: CheckedTable<StoredRecord, StoreKey>
  readonly candidate: CheckedTable<OverlayRow, StoreKey>
  readonly revisions: RevisionTable
  readonly meta: MetaTable
  readonly side: Readonly<Record<SideTableName, CheckedTable<unknown>>>
  readonly #root: RootDatabase
  readonly #room: FileRoom
  /** Commits that arrived while another one is being written. */
  #waiting: Commit[] = []
  #writing: Promise<void> = Promise.resolve()
  #isWriting = false
  /** Size of the data file after the last commit: asking LMDB is a read, which would block on a hanging disk. */
  #used_bytes = 0
  #failure: string | undefined

  constructor(directory: string) {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    assertWholeFile(directory, { everyPage: true })
    makeLockFile(directory)
    // With event turn batching a failed commit also rejects an internal promise of lmdb-js, which ends the process.
    const options = { overlappingSync: false, eventTurnBatching: false }
    this.#root = openEnvironment(directory, { maxDbs: DATABASES_MAX, ...options })
    this.#room = new FileRoom(directory, () => this.#used_bytes)
    // One transaction creates all tables with a single flush.
    const tables = this.#root.transactionSync(() => this.#open())
    ;({ running: this.running, candidate: this.candidate, revisions: this.revisions } = tables)
    ;({ meta: this.meta, side: this.side } = tables)
    this.#used_bytes = usedBytes(this.#root)
    this.#adopt(directory)
  }

  #open() {
    const table = <V, K extends RowKey = string>(name: string) =>
      new CheckedTable<V, K>(name, openDatabase<K>(this.#root, { name, encoding: 'binary' }))
    const sideTables = SIDE_TABLES.map((name) => [name, table<unknown>(name)] as const)
    return {
      running: table<StoredRecord, StoreKey>('running'),
      candidate: table<OverlayRow, StoreKey>('candidate'),
      revisions: new RevisionTable(table('revisions'), table('headers')),
      meta: new MetaTable('meta', openDatabase<string>(this.#root, { name: 'meta', encoding: 'binary' }), SCHEMA_KEY),
      // Sound: there is one entry per name.
      side: Object.fromEntries(sideTables) as Record<SideTableName, CheckedTable<unknown>>,
    }
  }

  get all(): readonly Surveyable[] {
    const { running, candidate, revisions, meta, side } = this
    return [running, candidate, ...revisions.tables, meta, ...Object.values(side)]
  }

  /**
   * Why LMDB failed. It is not used for writing again: a write might wait for ever for a lock that the failed one
   * holds.
   */
  get failure(): string | undefined {
    return this.#failure
  }

  /**
   * Runs one durable transaction after the other; commits that arrive meanwhile share the next one, and its flush.
   * Rejects with NoRoomError before anything is written on a full disk, and with StoreFailedError if LMDB fails, or has
   * failed.
   */
  commit(rows: readonly RowWrite[], options: CommitOptions = {}): Promise<void> {
    const written = new Promise<void>((resolve, reject) => {
      this.#waiting.push({ rows, options, resolve, reject })
    })
    if (!this.#isWriting) this.#writing = this.#writeWaiting()
    return written
  }

  async #writeWaiting(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const commits = this.#withRoom(this.#waiting.splice(0))
      try {
        if (commits.length > 0) await this.#write(commits.flatMap(({ rows }) => rows))
        for (const { resolve } of commits) resolve()
      } catch (error) {
        for (const { reject } of commits) reject(error)
      }
    }
    this.#isWriting = false
  }

  /** Returns the commits for which there is room in one transaction, and rejects the others. */
  #withRoom(commits: readonly Commit[]): readonly Commit[] {
    if (commits.length > 1 && this.#hasRoom(commits)) return commits
    const having: Commit[] = []
    for (const commit of commits) {
      const refusal = this.#refusalOf([...having, commit], commit.options)
      if (refusal === undefined) having.push(commit)
      else commit.reject(refusal)
    }
    return having
  }

  #hasRoom(commits: readonly Commit[]): boolean {
    const keepsReserve = commits.some(({ options }) => options.keepsReserve === true)
    return this.#refusalOf(commits, { keepsReserve }) === undefined
  }

  #refusalOf(commits: readonly Commit[], options: CommitOptions): unknown {
    if (this.#failure !== undefined) return new StoreFailedError(this.#failure, 'writing')
    const rows = commits.flatMap((commit) => commit.rows)
    try {
      this.ensureRoom(bytesOf(rows), rows.length, options)
      return undefined
    } catch (error) {
      return error
    }
  }

  async #write(rows: readonly RowWrite[]): Promise<void> {
    try {
      await this.#root.batch(() => {
        for (const row of rows) row.queue()
      })
      this.#written()
    } catch (error) {
      this.meta.settle(false)
      const reason = await reasonOfCommit(error)
      this.#failure = reason
      if (!this.#canRead()) refuseReads(this.#root, () => new StoreFailedError(reason, 'reading'))
      throw new StoreFailedError(reason, 'doing')
    }
  }

  /** After a failed meta page LMDB refuses reads as well, with messages that only its users understand. */
  #canRead(): boolean {
    try {
      this.side.jobs.get('any')
      return true
    } catch {
      return false
    }
  }

  /** Like `commit`, but synchronous: for the start, before anything else runs. */
  commitNow(rows: readonly RowWrite[]): void {
    if (rows.length === 0) return
    this.ensureRoom(bytesOf(rows), rows.length)
    this.#root.transactionSync(() => {
      for (const row of rows) row.queue()
    })
    this.#written()
  }

  #written(): void {
    this.meta.settle(true)
    this.#used_bytes = usedBytes(this.#root)
  }

  /** Makes sure of room for this many bytes in this many rows. Throws NoRoomError. */
  ensureRoom(bytes: number, rows: number, { keepsReserve = false }: CommitOptions = {}): void {
    this.#room.ensure(2 * bytes + this.#copied(rows), keepsReserve ? ROOM_BYTES_RESERVED : 0)
  }

  /**
   * Returns the bytes of the pages that a transaction copies: at most two pages per row, and never more than the trees
   * have.
   */
  #copied(rows: number): number {
    const each = rows * ROOM_BYTES_PER_RECORD
    if (rows <= FEW_ROWS) return each
    const trees = this.all.reduce((sum, table) => sum + table.treeBytes(), 0)
    return Math.min(each, trees + FEW_ROWS * ROOM_BYTES_PER_RECORD)
  }

  async close(): Promise<void> {
    await this.#writing
    await closeEnvironment(this.#root)
  }

  /** Writes the layout of a new store, or converts that of an earlier version in one transaction. */
  #adopt(directory: string): void {
    const layout: Database<unknown, string> = this.#root.openDB<unknown, string>({ name: 'meta', encoding: 'json' })
    const schema = layout.get(SCHEMA_KEY)
    if (schema === CONFIG_SCHEMA) return this.commitNow(this.revisions.unlisted())
    if (schema !== undefined && schema !== UNCHECKED_SCHEMA) {
      const found = JSON.stringify(schema)
      throw new Error(`the configuration in ${directory} has layout ${found}, but this version knows ${CONFIG_SCHEMA}`)
    }
    this.#room.ensure(ROOM_BYTES_MIN, ROOM_BYTES_RESERVED)
    const rows = this.all.flatMap((table) => [...table.unchecked()])
    this.ensureRoom(bytesOf(rows), rows.length)
    this.#root.transactionSync(() => {
      for (const row of rows) row.queue()
      layout.putSync(SCHEMA_KEY, CONFIG_SCHEMA)
    })
    this.#written()
    this.commitNow(this.revisions.unlisted())
  }
}

/** lmdb-js hides the reason in a rejected promise of its error. */
async function reasonOfCommit(error: unknown): Promise<string> {
  try {
    await Object(error).commitError
    return String(error)
  } catch (why) {
    // The part after a colon is meaningless without knowledge of LMDB.
    const [reason] = (why instanceof Error ? why.message : String(why)).split(':')
    return `the disk failed (${reason})`
  }
}

interface Commit {
  readonly rows: readonly RowWrite[]
  readonly options: CommitOptions
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

const bytesOf = (rows: readonly RowWrite[]): number => rows.reduce((sum, { bytes }) => sum + bytes, 0)
