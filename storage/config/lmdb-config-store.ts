import type {
  Change,
  ConfigStore,
  ConfigWriter,
  Journal,
  Origin,
  PromoteOptions,
  RecordKey,
  Revision,
  RevisionHeader,
  SideTable,
  Unconfirmed,
  Write,
} from './config-store.ts'
import type { Patch } from './amendment.ts'
import { decode, encode } from './keys.ts'
import { changesNothing, Mirror } from './mirror.ts'
import type { CountedHeader } from './revision-table.ts'
import { sideTable } from './side-table.ts'
import { CALLER_PREFIX, ConfigTables, type SideTableName } from './tables.ts'
import { MirroredWriter } from './writer.ts'

/** The store of one node: tables in LMDB, and a mirror of them that is read. */
export class LmdbConfigStore implements ConfigStore {
  readonly #tables: ConfigTables
  readonly #mirror = new Mirror()
  readonly #writer: MirroredWriter
  #last: Promise<unknown> = Promise.resolve()
  readonly sessions: SideTable
  readonly transactions: SideTable
  readonly jobs: SideTable
  readonly events: SideTable
  readonly apiTokens: SideTable
  readonly signIns: SideTable
  /** What was found damaged beside the configuration, and is left out. */
  readonly damaged: readonly string[]

  constructor(directory: string, newId: () => string) {
    const tables = new ConfigTables(directory)
    this.#tables = tables
    const damaged: string[] = []
    const side = (name: SideTableName) =>
      sideTable(
        tables.side[name],
        (rows) => tables.commit(rows),
        (problem) => damaged.push(problem),
      )
    this.sessions = side('sessions')
    this.transactions = side('transactions')
    this.jobs = side('jobs')
    this.events = side('events')
    this.apiTokens = side('apiTokens')
    this.signIns = side('signIns')
    this.damaged = damaged
    this.#writer = new MirroredWriter(tables, this.#mirror, newId)
    this.#load()
  }

  get revision(): number {
    return this.#writer.revision
  }
  get running(): ConfigStore['running'] {
    return this.#mirror.running
  }
  get candidate(): ConfigStore['candidate'] {
    return this.#mirror.candidate
  }
  changes(): readonly Change[] {
    return this.#mirror.changes()
  }
  isFrozen(changeId: string): boolean {
    return this.#writer.frozen.has(changeId)
  }

  exclusively<T>(work: (writer: ConfigWriter) => Promise<T>): Promise<T> {
    const turn = this.#last.then(() => work(this.#writer))
    this.#last = turn.catch(() => undefined)
    return turn
  }
  stage(writes: readonly Write[], origin: Origin): Promise<void> {
    return this.exclusively((writer) => writer.stage(writes, origin))
  }
  discard(changeIds: readonly string[]): Promise<void> {
    return this.exclusively((writer) => writer.discard(changeIds))
  }
  freeze(select: (change: Change) => boolean): Promise<readonly Change[]> {
    return this.exclusively((writer) => writer.freeze(select))
  }
  thaw(): Promise<void> {
    return this.exclusively((writer) => writer.thaw())
  }
  promote(frozen: readonly Change[], header: RevisionHeader, options?: PromoteOptions): Promise<void> {
    return this.exclusively((writer) => writer.promote(frozen, header, options))
  }
  amend(key: RecordKey, patch: Patch): Promise<void> {
    return this.exclusively((writer) => writer.amend(key, patch))
  }

  async openJournal(journal: Journal): Promise<void> {
    const { meta } = this.#tables
    const row = meta.put('journal', journal)
    // Also for what `promote` will write: an apply that has taken effect must not meet a full disk.
    const { bytes, rows } = this.#promotion()
    this.#tables.ensureRoom(row.bytes + bytes, rows + 1, { keepsReserve: true })
    await this.#tables.commit([row])
  }
  journal(): Journal | undefined {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by openJournal only
    return this.#tables.meta.get('journal') as Journal | undefined
  }
  closeJournal(): Promise<void> {
    return this.#tables.commit([this.#tables.meta.remove('journal')])
  }

  unconfirmed(): Unconfirmed | undefined {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by promote only
    return this.#tables.meta.get('unconfirmed') as Unconfirmed | undefined
  }
  confirm(): Promise<void> {
    return this.#tables.commit([this.#tables.meta.remove('unconfirmed')])
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
  close(): Promise<void> {
    return this.#tables.close()
  }

  /** What making the frozen changes running takes: each record as it becomes, and in the revision also as it was. */
  #promotion(): { readonly bytes: number; readonly rows: number } {
    const { running, candidate } = this.#tables
    let bytes = 0
    for (const change of this.#writer.frozen.values()) {
      const key = encode(change)
      bytes += 2 * candidate.bytes(key) + running.bytes(key)
    }
    return { bytes, rows: 2 * this.#writer.frozen.size }
  }

  #load(): void {
    for (const { key, value } of this.#tables.running.rows()) this.#mirror.setRunning(decode(key), value)
    for (const { key, value } of this.#tables.candidate.rows()) {
      const { value: content, ...row } = value
      const stored = content === undefined ? undefined : { value: content, revision: row.revision }
      this.#mirror.setOverlay(decode(key), { ...decode(key), ...row, stored })
    }
    // Left by a crash during an apply, see `freeze`.
    for (const change of this.changes().filter(changesNothing)) this.#mirror.setOverlay(change, undefined)
  }
}
