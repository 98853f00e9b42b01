import { mkdirSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { open, type Database, type RootDatabase } from 'lmdb'
import type { Change, ConfigStore, Journal, Origin, RecordKey, Revision, RevisionHeader } from './config-store.ts'
import type { PromoteOptions, SideTable, StoredRecord, Unconfirmed, Write } from './config-store.ts'
import { usedBytes } from '../env.ts'
import { assertWholeFile } from '../file-check.ts'
import { ROOM_BYTES_MIN, ROOM_BYTES_PER_RECORD } from '../limits.ts'
import { FileRoom, makeLockFile } from '../room.ts'
import { amended, type Patch } from './amendment.ts'
import { queued } from './queued.ts'
import { type CountedHeader, RevisionTable } from './revision-table.ts'
import { sideTable } from './side-table.ts'
import { decode, encode, recorded, renumbered, type StoreKey } from './keys.ts'
import { changesNothing, Mirror, type OverlayEntry } from './mirror.ts'

/** Version of the layout below; raised by one with each migration. */
export const CONFIG_SCHEMA = 1

type OverlayRow = Omit<OverlayEntry, 'section' | 'scope' | 'key' | 'stored'> & { readonly value?: unknown }

/**
 * Layout (all values JSON, all keys strings, or [section, scope, key] where a record is named):
 *   running     record key → {value, revision}
 *   candidate   record key → {value?, revision, changeId, actor, endpoint, at}; no value = removed
 *   revisions   revision, zero-padded → Revision
 *   headers     revision, zero-padded → RevisionHeader with the number of changes
 *   sessions    session id → whatever the caller stores; transactions, jobs, events, apiTokens and signIns likewise
 *   meta        schema, sequence, revision, journal, unconfirmed, and what callers put under their own keys
 * Commits are flushed before their promise resolves (overlappingSync off): an answered write survives power loss.
 */
export class LmdbConfigStore implements ConfigStore {
  readonly #root: RootDatabase
  readonly #running: Database<StoredRecord, StoreKey>
  readonly #candidate: Database<OverlayRow, StoreKey>
  readonly #revisions: RevisionTable
  readonly #meta: Database<unknown, string>
  readonly #mirror = new Mirror()
  readonly sessions: SideTable
  readonly transactions: SideTable
  readonly jobs: SideTable
  readonly events: SideTable
  readonly apiTokens: SideTable
  readonly signIns: SideTable
  readonly #room: FileRoom
  readonly #newId: () => string
  readonly #frozen = new Map<string, Change>()
  #sequence = 0
  #revision = 0

  constructor(directory: string, newId: () => string) {
    this.#newId = newId
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    assertWholeFile(directory)
    makeLockFile(directory)
    this.#root = open({ path: directory, noSubdir: false, overlappingSync: false, encoding: 'json', maxDbs: 16 })
    const database = <V, K extends string | StoreKey>(name: string): Database<V, K> =>
      this.#root.openDB<V, K>({ name, encoding: 'json' })
    this.#running = database('running')
    this.#candidate = database('candidate')
    this.#revisions = new RevisionTable(database('revisions'), database('headers'))
    this.#meta = database('meta')
    this.#room = new FileRoom(directory, () => usedBytes(this.#root))
    const side = (name: string) => sideTable(database(name), (records, work) => this.#write(records, work))
    this.sessions = side('sessions')
    this.transactions = side('transactions')
    this.jobs = side('jobs')
    this.events = side('events')
    this.apiTokens = side('apiTokens')
    this.signIns = side('signIns')
    const schema = this.#meta.get('schema')
    if (schema === undefined) {
      this.#room.ensure(ROOM_BYTES_MIN)
      this.#meta.putSync('schema', CONFIG_SCHEMA)
    } else if (schema !== CONFIG_SCHEMA) {
      throw new Error(
        `the configuration in ${directory} has layout ${JSON.stringify(schema)}, this version knows ${CONFIG_SCHEMA}`,
      )
    }
    this.#load()
  }

  get revision(): number {
    return this.#revision
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

  async stage(writes: readonly Write[], origin: Origin): Promise<void> {
    let sequence = this.#sequence
    const entries: { readonly key: RecordKey; readonly entry: OverlayEntry | undefined }[] = []
    for (const { value, ...key } of writes) {
      const running = this.#mirror.running.get(key.section, key.scope, key.key)
      sequence += 1
      const known = this.#mirror.overlayEntry(key)?.changeId
      // A record that is being made running will differ from what runs now: what is staged over it is a change.
      const frozen = known !== undefined && this.#frozen.has(known)
      const unchanged = !frozen && isDeepStrictEqual(running?.value, value)
      const changeId = known ?? this.#newId()
      const stored = value === undefined ? undefined : { value, revision: sequence }
      entries.push({ key, entry: unchanged ? undefined : { ...key, ...origin, changeId, stored, revision: sequence } })
    }
    // Taken before the wait: another write meanwhile counts on from here.
    this.#sequence = sequence
    await this.#write(entries.length, () => {
      for (const { key, entry } of entries) this.#putOverlay(key, entry)
      queued(this.#meta.put('sequence', this.#sequence))
    })
    for (const { key, entry } of entries) this.#mirror.setOverlay(key, entry)
  }

  async discard(changeIds: readonly string[]): Promise<void> {
    if (changeIds.length === 0) return
    const ids = new Set(changeIds)
    const gone = this.changes().filter((change) => ids.has(change.id))
    await this.#write(gone.length, () => {
      for (const change of gone) this.#putOverlay(change, undefined)
    })
    for (const change of gone) this.#mirror.setOverlay(change, undefined)
  }

  freeze(select: (change: Change) => boolean): readonly Change[] {
    const frozen = this.changes().filter(select)
    for (const change of frozen) this.#frozen.set(change.id, change)
    return frozen
  }

  isFrozen(changeId: string): boolean {
    return this.#frozen.has(changeId)
  }

  async thaw(): Promise<void> {
    this.#frozen.clear()
    await this.discard(
      this.changes()
        .filter(changesNothing)
        .map((change) => change.id),
    )
  }

  async openJournal(journal: Journal): Promise<void> {
    // Also for what `promote` will write: an apply that has taken effect must not meet a full disk.
    await this.#write(2 * this.changes().length, () => queued(this.#meta.put('journal', journal)))
  }
  journal(): Journal | undefined {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by openJournal only
    return this.#meta.get('journal') as Journal | undefined
  }
  closeJournal(): Promise<void> {
    return this.#write(0, () => queued(this.#meta.remove('journal')))
  }

  unconfirmed(): Unconfirmed | undefined {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by promote only
    return this.#meta.get('unconfirmed') as Unconfirmed | undefined
  }
  confirm(): Promise<void> {
    return this.#write(0, () => queued(this.#meta.remove('unconfirmed')))
  }

  async promote(changed: readonly Change[], header: RevisionHeader, options: PromoteOptions = {}): Promise<void> {
    this.#frozen.clear()
    const { unconfirmed, keepsJournal = false } = options
    const frozen = renumbered(changed, () => (this.#sequence += 1))
    const overlay = this.#mirror.afterPromotion(frozen, options.again ?? [], () => (this.#sequence += 1))
    await this.#write(frozen.length + overlay.length, () => {
      for (const change of frozen) this.#putRunning(change)
      for (const [key, entry] of overlay) this.#putOverlay(key, entry)
      this.#revisions.put({ ...header, changes: recorded(frozen) })
      queued(this.#meta.put('revision', header.revision))
      queued(unconfirmed === undefined ? this.#meta.remove('unconfirmed') : this.#meta.put('unconfirmed', unconfirmed))
      queued(this.#meta.put('sequence', this.#sequence))
      if (!keepsJournal) queued(this.#meta.remove('journal'))
    })
    this.#revision = header.revision
    for (const change of frozen) this.#mirror.setRunning(change, change.after)
    for (const [key, entry] of overlay) this.#mirror.setOverlay(key, entry)
  }
  async amend(key: RecordKey, patch: Patch): Promise<void> {
    if (this.#frozen.size > 0) throw new Error('nothing can be amended while an apply is under way')
    const { running, overlay } = amended(this.#mirror, key, patch, (this.#sequence += 1))
    await this.#write(2, () => {
      this.#putRunning({ ...key, after: running })
      this.#putOverlay(key, overlay)
      queued(this.#meta.put('sequence', this.#sequence))
    })
    this.#mirror.setRunning(key, running)
    this.#mirror.setOverlay(key, overlay)
  }
  get oldestRevision(): number {
    return this.#revisions.oldest ?? this.#revision + 1
  }
  revisions(limit: number, before?: number): readonly Revision[] {
    return this.#revisions.list(limit, before)
  }
  revisionHeaders(limit: number, before?: number): readonly CountedHeader[] {
    return this.#revisions.headers(limit, before)
  }
  getMeta(key: string): unknown {
    return this.#meta.get(`caller ${key}`)
  }
  putMeta(key: string, value: unknown): Promise<void> {
    return this.#write(1, () => queued(this.#meta.put(`caller ${key}`, value)))
  }
  close(): Promise<void> {
    return this.#root.close()
  }

  /** One durable transaction about so many records; throws NoRoomError before anything is written on a full disk. */
  async #write(records: number, work: () => void): Promise<void> {
    this.#room.ensure(ROOM_BYTES_MIN + ROOM_BYTES_PER_RECORD * records)
    await this.#root.batch(work)
  }

  #putRunning(change: RecordKey & Pick<Change, 'after'>): void {
    if (change.after === undefined) queued(this.#running.remove(encode(change)))
    else queued(this.#running.put(encode(change), change.after))
  }

  #putOverlay(key: RecordKey, entry: OverlayEntry | undefined): void {
    if (entry === undefined) {
      queued(this.#candidate.remove(encode(key)))
      return
    }
    const { stored, revision, changeId, actor, endpoint, at } = entry
    const row = { revision, changeId, actor, endpoint, at, ...(stored === undefined ? {} : { value: stored.value }) }
    queued(this.#candidate.put(encode(key), row))
  }

  #load(): void {
    this.#sequence = Number(this.#meta.get('sequence') ?? 0)
    this.#revision = Number(this.#meta.get('revision') ?? 0)
    for (const { key, value } of this.#running.getRange()) this.#mirror.setRunning(decode(key), value)
    for (const { key, value } of this.#candidate.getRange()) {
      const { value: content, ...row } = value
      const stored = content === undefined ? undefined : { value: content, revision: row.revision }
      this.#mirror.setOverlay(decode(key), { ...decode(key), ...row, stored })
    }
    // Left by a crash during an apply, see `freeze`.
    for (const change of this.changes().filter(changesNothing)) this.#mirror.setOverlay(change, undefined)
  }
}
