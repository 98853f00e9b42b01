import type {
  Change,
  ConfigStore,
  Frozen,
  Journal,
  RecordKey,
  Revision,
  RowChanges,
  SharedTable,
  SideTable,
  TellRecord,
  Unconfirmed,
} from './config-store.ts'
import { type Built, type Entry, type EntryLog, LostRaceError } from './entry.ts'
import { encode } from './keys.ts'
import { Mirror } from './mirror.ts'
import type { CountedHeader } from './revision-table.ts'
import { SharedTables } from './shared-tables.ts'
import { sideTable } from './side-table.ts'
import { overlayOf, runningOf, unconfirmedIn } from './store-state.ts'
import { CALLER_PREFIX, ConfigTables, type SharedTableName, type SideTableName } from './tables.ts'
import { Fold, type Folding } from './fold.ts'

/** With five nodes writing without a pause, one of them loses this often in a row once in a thousand edits. */
const TRIES_MAX = 32

/** The store of one node: tables in LMDB, and a mirror in memory for reads. */
export class LmdbConfigStore implements ConfigStore {
  readonly #tables: ConfigTables
  readonly #mirror = new Mirror()
  readonly #fold: Fold
  readonly #alone: EntryLog = {
    position: 0,
    append: (entry) => this.#fold.carryOut(entry),
    catchUp: () => Promise.resolve(),
  }
  #log: EntryLog = this.#alone
  #last: Promise<unknown> = Promise.resolve()
  /** The last write to a shared table; such writes do not wait for edits. */
  #lastUpdate: Promise<unknown> = Promise.resolve()
  readonly sessions: SharedTable
  readonly apiTokens: SharedTable
  readonly signIns: SharedTable
  readonly openTransactions: SharedTable
  readonly members: SharedTable
  readonly joinTokens: SharedTable
  readonly silences: SharedTable
  readonly transactions: SideTable
  readonly jobs: SideTable
  readonly events: SideTable
  readonly alerts: SideTable
  readonly owed: SideTable
  /** Damaged rows beside the configuration, which are left out. */
  readonly damaged: readonly string[]

  constructor(directory: string) {
    const tables = new ConfigTables(directory)
    this.#tables = tables
    const damaged: string[] = []
    const side = (name: SideTableName) =>
      sideTable(
        tables.side[name],
        (rows) => tables.commit(rows),
        (problem) => damaged.push(problem),
      )
    const shared = new SharedTables(tables)
    const sharedTable = (name: SharedTableName): SharedTable => {
      const own = side(name)
      const update: SharedTable['update'] = (build) => this.#update(name, build)
      const write: SideTable['write'] = async (puts, removed) => void (await update(() => ({ puts, removed })))
      return {
        entries: () => own.entries(),
        put: (key, value) => write([{ key, value }], []),
        remove: (keys) => write([], keys),
        write,
        update,
        follow: (tell) => shared.follow(name, tell),
      }
    }
    this.sessions = sharedTable('sessions')
    this.apiTokens = sharedTable('apiTokens')
    this.signIns = sharedTable('signIns')
    this.openTransactions = sharedTable('openTransactions')
    this.members = sharedTable('members')
    this.joinTokens = sharedTable('joinTokens')
    this.silences = sharedTable('silences')
    this.transactions = side('transactions')
    this.jobs = side('jobs')
    this.events = side('events')
    this.alerts = side('alerts')
    this.owed = side('owed')
    this.damaged = damaged
    shared.follow('ahead', (changes) => this.#mirror.ahead.take(changes))
    this.#fold = new Fold(tables, this.#mirror, shared)
    this.#load()
  }

  get revision(): number {
    return this.#fold.revision
  }
  get runningVersion(): number {
    return this.#fold.revision + this.#mirror.ahead.version
  }
  get running(): ConfigStore['running'] {
    return this.#mirror.running
  }
  get agreed(): ConfigStore['agreed'] {
    return this.#mirror.agreed
  }
  follow(tell: TellRecord): void {
    this.#mirror.follow(tell)
  }
  runningOn(nodeId: string): ConfigStore['running'] {
    return this.#mirror.runningOn(nodeId)
  }
  aheadOn(nodeId: string): readonly RecordKey[] {
    return this.#mirror.ahead.of(nodeId)
  }
  isAheadBy(applyId: string): boolean {
    return this.#mirror.ahead.has(applyId)
  }
  get candidate(): ConfigStore['candidate'] {
    return this.#mirror.candidate
  }
  staged(): readonly Change[] {
    return this.#mirror.staged()
  }
  get changeCount(): number {
    return this.#mirror.changeCount
  }
  changes(): readonly Change[] {
    return this.#mirror.changes()
  }
  isFrozen(changeId: string): boolean {
    return this.#fold.isFrozen(changeId)
  }
  frozen(applyId: string): readonly Change[] | undefined {
    return this.#fold.frozen(applyId)
  }
  underWay(): Frozen | undefined {
    return this.#fold.underWay()
  }

  edit<T>(build: () => Built<T> | Promise<Built<T>>): Promise<T> {
    const turn = this.#last.then(async () => {
      const { result, afterwards } = await this.#written(build)
      await afterwards?.()
      return result
    })
    this.#last = turn.catch(() => undefined)
    return turn
  }
  /** Does not wait for edits, because a running edit may be waiting for this write. */
  #update(table: SharedTableName, build: () => RowChanges | undefined): Promise<boolean> {
    const turn = this.#lastUpdate.then(async () => {
      const { result } = await this.#written(() => {
        const changes = build()
        return changes === undefined ? { result: false } : { result: true, entry: { op: 'put', table, ...changes } }
      })
      return result
    })
    this.#lastUpdate = turn.catch(() => undefined)
    return turn
  }
  /**
   * Builds until no other node has written in between, and then writes. A refusal, or that nothing changes, must not
   * rest on old records either: a client may have sent its last request to another node.
   */
  async #written<T>(build: () => Built<T> | Promise<Built<T>>): Promise<Built<T>> {
    for (let tries = 1; ; tries++) {
      const since = this.#log.position
      const outcome = await outcomeOf(build)
      if (!('built' in outcome) || outcome.built.entry === undefined) {
        await this.#log.catchUp()
        if (this.#log.position > since && tries < TRIES_MAX) continue
        if ('built' in outcome) return outcome.built
        throw outcome.refusal
      }
      try {
        await this.#log.append(outcome.built.entry, since)
        return outcome.built
      } catch (error) {
        if (!(error instanceof LostRaceError)) throw error
        if (tries === TRIES_MAX) throw error.refusal
      }
    }
  }
  write(entry: Entry): Promise<void> {
    return this.edit(() => ({ result: undefined, entry }))
  }

  /** The interface for the log that orders entries. */
  get folding(): Folding {
    return this.#fold
  }
  /** Lets the log that `make` returns order the entries from then on; nothing is written while `make` runs. */
  handOver(make: () => Promise<EntryLog>): Promise<void> {
    const turn = this.#last.then(() => {
      const made = this.#lastUpdate.then(async () => this.orderBy(await make()))
      this.#lastUpdate = made.catch(() => undefined)
      return made
    })
    this.#last = turn.catch(() => undefined)
    return turn
  }
  /** Orders entries locally again, once `end` has ended the current log; nothing is written meanwhile. */
  standAlone(end: () => Promise<void>): Promise<void> {
    return this.handOver(async () => {
      await end()
      await this.#fold.leave()
      return this.#alone
    })
  }
  startOver(): Promise<void> {
    return this.#fold.startOver()
  }
  /** Lets this log order the entries from now on; it passes all of them to `folding`. */
  orderBy(log: EntryLog): void {
    this.#log = log
    this.#mirror.ahead.at(log.nodeId)
  }

  async openJournal(journal: Journal): Promise<void> {
    const { meta } = this.#tables
    const row = meta.put('journal', journal)
    // Includes the writes of `promote`: an apply that has taken effect must not meet a full disk.
    const { bytes, rows } = this.#promotion(this.#fold.frozen(journal.applyId) ?? [])
    this.#tables.ensureRoom(row.bytes + bytes, rows + 1, { keepsReserve: true })
    await this.#tables.commit([row])
  }
  journal(): Journal | undefined {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by openJournal only
    return this.#tables.meta.get('journal') as Journal | undefined
  }
  closeJournal(applyId: string): Promise<void> {
    return this.#tables.commit(this.#fold.closedJournal(applyId))
  }

  unconfirmed(): Unconfirmed | undefined {
    return unconfirmedIn(this.#tables)
  }

  get oldestRevision(): number {
    return this.#tables.revisions.oldest ?? this.revision + 1
  }
  revisions(limit: number, before?: number): readonly Revision[] {
    return this.#tables.revisions.list(limit, before)
  }
  revisionHeaders(limit: number, before?: number): readonly CountedHeader[] {
    return this.#tables.revisions.headers(limit, before)
  }

  getMeta(key: string): unknown {
    return this.#tables.meta.get(`${CALLER_PREFIX}${key}`)
  }
  putMeta(key: string, value: unknown): Promise<void> {
    return this.#tables.commit([this.#tables.meta.put(`${CALLER_PREFIX}${key}`, value)])
  }
  get failure(): string | undefined {
    return this.#tables.failure
  }
  close(): Promise<void> {
    return this.#tables.close()
  }

  /**
   * Returns the size of the writes that make the frozen changes running: each new record, and in the revision also the
   * old one.
   */
  #promotion(frozen: readonly Change[]): { readonly bytes: number; readonly rows: number } {
    const { running, candidate } = this.#tables
    let bytes = 0
    for (const change of frozen) {
      const key = encode(change)
      bytes += 2 * candidate.bytes(key) + running.bytes(key)
    }
    return { bytes, rows: 2 * frozen.length }
  }

  #load(): void {
    this.#mirror.load({ running: runningOf(this.#tables), candidate: overlayOf(this.#tables) })
    this.#mirror.ahead.take({ puts: [...this.#tables.side.ahead.rows()], removed: [] })
    // In a cluster the other nodes have them as well, until an entry removes them.
    if (this.#fold.position > 0) return
    // Changes without effect that are left from a crash during an apply, see `freeze`.
    for (const [change] of this.#mirror.dropped()) this.#mirror.setOverlay(change, undefined)
  }
}

type Outcome<T> = { readonly built: Built<T> } | { readonly refusal: unknown }

async function outcomeOf<T>(build: () => Built<T> | Promise<Built<T>>): Promise<Outcome<T>> {
  try {
    return { built: await build() }
  } catch (refusal) {
    return { refusal }
  }
}
