import { isDeepStrictEqual } from 'node:util'
import { isAgreed } from './ahead.ts'
import { amend, changedFields } from './amendment.ts'
import type { RowWrite } from './checked-table.ts'
import { clusterRow } from './cluster-rows.ts'
import type { Change, Frozen, RecordKey } from './config-store.ts'
import type {
  AmendEntry,
  ConfirmEntry,
  Entry,
  FreezeEntry,
  PromoteEntry,
  PutEntry,
  StageEntry,
  ThawEntry,
} from './entry.ts'
import { encode, recordChanges, renumber } from './keys.ts'
import type { Mirror } from './mirror.ts'
import type { SharedTables } from './shared-tables.ts'
import {
  FROZEN_PREFIX,
  frozenChanges,
  frozenRows,
  othersOf,
  type OverlayEntry,
  overlayRow,
  type StoreRecords,
  type StoreState,
  stateRows,
  unconfirmedIn,
  unconfirmedRow,
} from './store-state.ts'
import type { CommitOptions, ConfigTables } from './tables.ts'

/** The interface of a store to a log of entries. Each call must wait for the promise of the one before. */
export interface Folding {
  /** Number of the last entry of a shared log that is folded here; 0 before the first. */
  readonly position: number
  /** Folds the entry that follows `position`. Changes that it freezes survive a restart of the daemon. */
  fold(entry: Entry, position: number): Promise<void>
  /** Throws where `fold` would in the current state, except for errors of the disk. */
  check(entry: Entry): void
  /** Everything that entries have made of the store, as a starting point for another one. */
  snapshot(): StoreState
  /** Like `snapshot`, without the revisions. */
  records(): StoreRecords
  /** Replaces everything that entries have made of this store by the state of another. */
  replace(state: StoreState, position: number): Promise<void>
}

/** The effect of an entry on the store. */
interface Folded {
  /** Rows of one LMDB transaction. */
  readonly rows: readonly RowWrite[]
  readonly options?: CommitOptions
  /** The changes that an apply has frozen, for stores that keep them on disk. */
  readonly frozen?: Frozen
  /** Updates memory once the rows are written. */
  readonly settle: () => void
}

/** Tables that only nodes of a cluster use. */
const OF_CLUSTERS = ['members', 'joinTokens', 'openTransactions'] as const

type Overlay = readonly (readonly [RecordKey, OverlayEntry | undefined])[]

/**
 * Folds entries: first into the tables, then into the mirror that readers use. Nothing here depends on time, random
 * numbers or settings: the same entries make the same store everywhere.
 */
export class Fold implements Folding {
  readonly #tables: ConfigTables
  readonly #mirror: Mirror
  readonly #shared: SharedTables
  /** Frozen changes by apply id. */
  readonly #frozen = new Map<string, Frozen>()
  #frozenIds: ReadonlySet<string> = new Set()
  #sequence: number
  #revision: number
  #position: number

  constructor(tables: ConfigTables, mirror: Mirror, shared: SharedTables) {
    this.#tables = tables
    this.#mirror = mirror
    this.#shared = shared
    this.#sequence = Number(tables.meta.get('sequence') ?? 0)
    this.#revision = Number(tables.meta.get('revision') ?? 0)
    this.#position = Number(tables.meta.get('position') ?? 0)
    for (const frozen of frozenRows(tables)) this.#hold(frozen.applyId, frozen)
  }

  get position(): number {
    return this.#position
  }

  get revision(): number {
    return this.#revision
  }

  isFrozen(changeId: string): boolean {
    return this.#frozenIds.has(changeId)
  }

  frozen(applyId: string): readonly Change[] | undefined {
    return this.#frozen.get(applyId)?.changes
  }

  underWay(): Frozen | undefined {
    const [first] = this.#frozen.values()
    return first
  }

  /** Carries out an entry without a cluster. Frozen changes stay in memory, and are pending again after a restart. */
  async carryOut(entry: Entry): Promise<void> {
    const { rows, options, settle } = this.#folded(entry)
    // Even on a full disk, because nothing would end the apply a second time.
    if (entry.op === 'thaw') this.#hold(entry.applyId, undefined)
    if (rows.length > 0) await this.#tables.commit(rows, options)
    settle()
  }

  async fold(entry: Entry, position: number): Promise<void> {
    if (position !== this.#position + 1) throw new Error(`entry ${position} does not follow entry ${this.#position}`)
    const { rows, options, settle, frozen } = this.#folded(entry)
    const shared = [...frozenChanges(this.#tables, entry, frozen), this.#tables.meta.put('position', position)]
    await this.#tables.commit([...rows, ...shared], options)
    settle()
    this.#position = position
  }

  check(entry: Entry): void {
    this.#folded(entry)
  }

  snapshot(): StoreState {
    return { ...this.records(), revisions: this.#tables.revisions.intact() }
  }

  records(): StoreRecords {
    const [sequence, revision, shared] = [this.#sequence, this.#revision, this.#shared.all()]
    const [frozen, unconfirmed] = [[...this.#frozen.values()], unconfirmedIn(this.#tables)]
    return { sequence, revision, ...this.#mirror.rows(), frozen, shared, ...(unconfirmed && { unconfirmed }) }
  }

  async replace(state: StoreState, position: number): Promise<void> {
    const { meta } = this.#tables
    const { sequence, revision, frozen, unconfirmed } = state
    const shared = this.#shared.replacing(state.shared)
    await this.#tables.commit([
      ...stateRows(this.#tables, state),
      ...[...this.#frozen.keys()].map((applyId) => meta.remove(`${FROZEN_PREFIX}${applyId}`)),
      ...frozen.map((one) => meta.put(`${FROZEN_PREFIX}${one.applyId}`, one)),
      ...shared.flatMap(({ table, ...changes }) => this.#shared.rowsOf(table, changes)),
      unconfirmedRow(this.#tables, unconfirmed),
      ...Object.entries({ sequence, revision, position }).map(([key, value]) => meta.put(key, value)),
    ])
    this.#mirror.load(state)
    for (const applyId of this.#frozen.keys()) this.#hold(applyId, undefined)
    for (const one of frozen) this.#hold(one.applyId, one)
    this.#sequence = sequence
    this.#revision = revision
    this.#position = position
    for (const { table, ...changes } of shared) this.#shared.tell(table, changes)
  }

  async startOver(): Promise<void> {
    await this.#tables.commit([this.#tables.meta.put('position', 0)])
    this.#position = 0
  }

  /** Removes the rows that only a cluster needs; configuration, pending changes and sessions stay. */
  async leave(): Promise<void> {
    const { meta } = this.#tables
    const shared = OF_CLUSTERS.map((table) => ({ table, puts: [], removed: this.#shared.keysOf(table) }))
    const applies = [...this.#frozen.keys()]
    await this.#tables.commit([
      ...shared.flatMap(({ table, ...changes }) => this.#shared.rowsOf(table, changes)),
      ...applies.map((applyId) => meta.remove(`${FROZEN_PREFIX}${applyId}`)),
      meta.remove('position'),
    ])
    for (const applyId of applies) this.#hold(applyId, undefined)
    this.#position = 0
    for (const { table, ...changes } of shared) this.#shared.tell(table, changes)
  }

  /** Has no side effects, because `check` evaluates entries that may never be written. */
  #folded(entry: Entry): Folded {
    switch (entry.op) {
      case 'stage':
        return this.#stage(entry)
      case 'freeze':
        return this.#freeze(entry)
      case 'thaw':
        return this.#thaw(entry)
      case 'promote':
        return this.#promote(entry)
      case 'amend':
        return this.#amend(entry)
      case 'confirm':
        return this.#confirm(entry)
      case 'put':
        return this.#put(entry)
      case 'takeover':
      case 'level':
        return this.#put(clusterRow(entry))
      case 'compare':
        // The comparison is made by the log that orders the entries.
        return { rows: [], settle: () => undefined }
      default:
        throw unknownOperation(entry)
    }
  }

  #stage({ writes, discards, origin, commits }: StageEntry): Folded {
    const taken = new Set(discards)
    // The list of pending changes is long, and most edits discard nothing.
    const gone = taken.size === 0 ? [] : this.#mirror.staged().filter((change) => taken.has(change.id))
    let sequence = this.#sequence
    const staged = writes.map(({ value, changeId: newId, ...key }): Overlay[number] => {
      const running = this.#mirror.agreed.get(key.section, key.scope, key.key)
      sequence += 1
      const known = this.#mirror.overlayEntry(key)
      // A change that the same entry discards no longer counts.
      const pending = known !== undefined && taken.has(known.changeId) ? undefined : known
      const changeId = pending?.changeId ?? newId
      // A frozen record will differ from running, so an edit over it is a change even if it equals running now.
      const isUnchanged = !this.isFrozen(changeId) && isDeepStrictEqual(running?.value, value)
      const stored = value === undefined ? undefined : { value, revision: sequence }
      const others = othersOf(pending, origin.actor)
      return [key, isUnchanged ? undefined : { ...key, ...origin, ...others, changeId, stored, revision: sequence }]
    })
    const overlay: Overlay = [...gone.map((change) => [change, undefined] as const), ...staged]
    const removed = commits === undefined ? [] : [commits]
    const committed = this.#put({ op: 'put', table: 'openTransactions', puts: [], removed })
    return {
      rows: [...this.#overlayRows(overlay), ...this.#sequenceRows(sequence), ...committed.rows],
      // A request that removes something may be freeing room.
      options: { keepsReserve: writes.some(({ value }) => value !== undefined) },
      settle: () => {
        this.#settle(sequence, overlay)
        committed.settle()
      },
    }
  }

  #freeze(entry: FreezeEntry): Folded {
    const { applyId, asked } = entry
    const frozen = { applyId, changes: this.#chosen(entry), ...(asked && { asked }) }
    return { rows: [], frozen, settle: () => this.#hold(applyId, frozen) }
  }

  #chosen({ changes }: FreezeEntry): readonly Change[] {
    const unstaged = changes.filter((change) => typeof change !== 'string')
    if (unstaged.length > 0) return unstaged
    const ids = new Set<unknown>(changes)
    return this.#mirror.changes().filter(({ id }) => ids.has(id))
  }

  #thaw({ applyId }: ThawEntry): Folded {
    const overlay = this.#mirror.dropped()
    return {
      rows: this.#overlayRows(overlay),
      settle: () => {
        this.#hold(applyId, undefined)
        this.#settle(this.#sequence, overlay)
      },
    }
  }

  #promote(entry: PromoteEntry): Folded {
    const { header, unconfirmed, keepsJournal = false, unstaged = false } = entry
    const changed = entry.changes ?? this.frozen(header.applyId)
    if (changed === undefined) throw new Error(`nothing is frozen for the apply ${header.applyId}`)
    if (entry.onlyOn !== undefined) return this.#promoteOn(entry.onlyOn, header.applyId, changed)
    const { meta, revisions } = this.#tables
    const ahead = this.#mirror.ahead.afterAll(changed)
    // A change that only takes something back where a node was ahead does not belong in the revision.
    const told = ahead.puts.length === 0 ? changed : changed.filter((one) => !isAgreed(this.#mirror.agreed, one))
    let sequence = this.#sequence
    const made = renumber(changed, unstaged, () => (sequence += 1))
    const overlay = unstaged
      ? made.map((change) => [change, this.#followed(change)] as const)
      : this.#mirror.afterPromotion(made, entry.again ?? [], () => (sequence += 1))
    return {
      rows: [
        ...made.map((change) => this.#runningRow(change)),
        ...this.#overlayRows(overlay),
        ...revisions.put({ ...header, changes: recordChanges(told) }),
        ...this.#shared.rowsOf('ahead', ahead),
        meta.put('revision', header.revision),
        unconfirmedRow(this.#tables, unconfirmed),
        meta.put('sequence', sequence),
        ...(keepsJournal ? [] : this.closedJournal(header.applyId)),
      ],
      // The journal has already reserved the room for this.
      options: { keepsReserve: meta.get('journal') === undefined },
      settle: () => {
        this.#hold(header.applyId, undefined)
        this.#revision = header.revision
        for (const change of made) this.#mirror.setRunning(change, change.after)
        this.#shared.tell('ahead', ahead)
        this.#settle(sequence, overlay)
      },
    }
  }

  /** The agreed configuration stays, and with it what is pending. */
  #promoteOn(nodeId: string, applyId: string, changed: readonly Change[]): Folded {
    const { meta } = this.#tables
    const ahead = this.#mirror.ahead.afterOne(nodeId, applyId, changed, this.#mirror.agreed)
    const [sequence, overlay] = [this.#sequence + 1, this.#mirror.dropped()]
    return {
      rows: [
        ...this.#shared.rowsOf('ahead', ahead),
        ...this.#overlayRows(overlay),
        meta.put('sequence', sequence),
        ...this.closedJournal(applyId),
      ],
      options: { keepsReserve: meta.get('journal') === undefined },
      settle: () => {
        this.#hold(applyId, undefined)
        this.#shared.tell('ahead', ahead)
        this.#settle(sequence, overlay)
      },
    }
  }

  /** Applies that were in doubt on this machine before stay so. */
  closedJournal(applyId: string): readonly RowWrite[] {
    const { meta } = this.#tables
    const journal = Object(meta.get('journal'))
    if (Reflect.get(journal, 'applyId') !== applyId) return []
    const inDoubt: unknown = Reflect.get(journal, 'inDoubt')
    return [inDoubt === undefined ? meta.remove('journal') : meta.put('journal', inDoubt)]
  }

  #amend({ key, patch }: AmendEntry): Folded {
    if (this.#frozen.size > 0) throw new Error('nothing can be amended while an apply is running')
    const sequence = this.#sequence + 1
    const { running, overlay } = amend(this.#mirror, key, patch, sequence)
    return {
      rows: [
        this.#runningRow({ ...key, after: running }),
        ...this.#overlayRows([[key, overlay]]),
        ...this.#sequenceRows(sequence),
      ],
      settle: () => {
        this.#mirror.setRunning(key, running)
        this.#settle(sequence, [[key, overlay]])
      },
    }
  }

  #put({ table, puts, removed }: PutEntry): Folded {
    const changes = { puts, removed }
    return { rows: this.#shared.rowsOf(table, changes), settle: () => this.#shared.tell(table, changes) }
  }

  #confirm({ applyId }: ConfirmEntry): Folded {
    const { meta } = this.#tables
    const waits = Reflect.get(Object(meta.get('unconfirmed')), 'applyId') === applyId
    return { rows: waits ? [meta.remove('unconfirmed')] : [], settle: () => undefined }
  }

  #hold(applyId: string, frozen: Frozen | undefined): void {
    if (frozen === undefined) this.#frozen.delete(applyId)
    else this.#frozen.set(applyId, frozen)
    this.#frozenIds = new Set([...this.#frozen.values()].flatMap(({ changes }) => changes.map(({ id }) => id)))
  }

  #settle(sequence: number, overlay: Overlay): void {
    this.#sequence = sequence
    for (const [key, entry] of overlay) this.#mirror.setOverlay(key, entry)
  }

  /** Returns the record's pending change after this change was made running. */
  #followed(change: Change): OverlayEntry | undefined {
    if (change.after === undefined) return this.#mirror.overlayEntry(change)
    const patch = changedFields(change.before?.value, change.after.value)
    return amend(this.#mirror, change, patch, change.after.revision).overlay
  }

  #sequenceRows(sequence: number): readonly RowWrite[] {
    return sequence === this.#sequence ? [] : [this.#tables.meta.put('sequence', sequence)]
  }

  #runningRow(change: RecordKey & Pick<Change, 'after'>): RowWrite {
    const { running } = this.#tables
    const key = encode(change)
    return change.after === undefined ? running.remove(key) : running.put(key, change.after)
  }

  #overlayRows(overlay: Overlay): readonly RowWrite[] {
    return overlay.map(([key, entry]) => overlayRow(this.#tables, key, entry))
  }
}

const unknownOperation = (entry: never) => new Error(`an entry of an unknown operation: ${JSON.stringify(entry)}`)
