import type { ConfigStore, SideTable, Write } from '../../storage/config/config-store.ts'
import type { Actor } from '../context/actor.ts'
import type { TransactionEntry } from '../context/staging.ts'
import type { MachineClock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import { judgedWrites } from './made.ts'
import { type May, refuseForeign } from './needed-rights.ts'

/** A transaction that nobody used for so long is rolled back. */
export const IDLE_MS_MAX = 15 * 60_000

/** One record edited in a transaction. */
export interface TransactionWrite extends Write {
  /** Revision of the record in the candidate when it was first edited; null when it was not there. */
  readonly base: number | null
  /** Negative, unique within the transaction: what an ETag says of the record inside it. */
  readonly revision: number
}

interface Stored {
  readonly id: string
  readonly owner: { readonly userId: string; readonly email: string }
  readonly openedAt_ms: number
  /** In time since the machine was started: setting its clock neither ends a transaction nor keeps it. */
  readonly used: { readonly bootId: string; readonly uptime_ms: number }
  readonly writes: readonly TransactionWrite[]
}

/** What a request does inside a transaction starts from, and is added to. */
export interface Joined {
  readonly id: string
  readonly writes: readonly TransactionWrite[]
  save(writes: readonly TransactionWrite[]): Promise<void>
}

/**
 * The API's editing session: edits that nobody else sees until they are committed to the candidate, all or none. One at
 * a time; kept durably, so that a restart of the daemon loses nothing.
 */
export class Transactions {
  readonly #store: Pick<ConfigStore, 'candidate'>
  readonly #table: SideTable
  readonly #clock: MachineClock
  readonly #log: Log
  #open: Stored | undefined
  /** Id of the transaction whose edits are being made running. */
  #applying: string | undefined

  constructor(store: Pick<ConfigStore, 'transactions' | 'candidate'>, clock: MachineClock, log: Log) {
    this.#store = store
    this.#table = store.transactions
    this.#clock = clock
    this.#log = log
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by #put only
    this.#open = this.#table.entries()[0]?.value as Stored | undefined
  }

  list(): readonly TransactionEntry[] {
    const open = this.#current()
    return open === undefined ? [] : [this.#entryOf(open)]
  }

  refuseOpen(): void {
    const open = this.#current()
    if (open === undefined) return
    const message = `The transaction ${open.id} of ${open.owner.email} is open; commit it or roll it back first`
    throw new ApiError('TRANSACTION_OPEN', message, { data: this.#entryOf(open) })
  }

  refuseUnknown(id: string): void {
    this.#named(id)
  }

  /** What acts on everybody's pending changes must not look as if it acted on a transaction. */
  refuseInside(id: string): void {
    const open = this.#named(id)
    const message =
      'This request is about pending changes and never about the edits of a transaction; ' +
      `send it without X-Transaction-Id, or commit or roll back the transaction ${id} first`
    throw new ApiError('TRANSACTION_OPEN', message, { data: this.#entryOf(open) })
  }

  async begin(owner: Actor): Promise<TransactionEntry> {
    this.refuseOpen()
    const { userId, email } = owner
    const openedAt_ms = this.#clock.now_ms()
    const opened = { id: newId(), owner: { userId, email }, openedAt_ms, used: this.#now(), writes: [] }
    // Before it is durable, so that of two requests at once one is refused.
    this.#open = opened
    try {
      await this.#drop(opened.id)
      await this.#table.put(opened.id, opened)
    } catch (error) {
      this.#open = undefined
      throw error
    }
    return this.#entryOf(opened)
  }

  /** The transaction that a request names; refuses one that is not open, or somebody else's. */
  join(id: string, actor: Actor): Joined {
    const open = this.#named(id)
    if (open.owner.userId !== actor.userId) {
      throw new ApiError('PERMISSION_DENIED', `The transaction ${id} belongs to ${open.owner.email}`)
    }
    const used = { ...open, used: this.#now() }
    this.#open = used
    return { id, writes: open.writes, save: (writes) => this.#put({ ...used, writes }) }
  }

  /** Refuses who could not have made the edits of somebody else: rolling them back makes them vanish. */
  refuseForeign(id: string, { userId }: Actor, may: May): void {
    const { owner, writes } = this.#named(id)
    if (owner.userId === userId) return
    const edits = judgedWrites(this.#store, writes, { actor: owner.email, endpoint: '' })
    refuseForeign(edits, may, `ask ${owner.email}, or wait: a transaction that is idle for 15 minutes is rolled back`)
  }

  /** Ends it; what was edited in it is gone unless it was committed before. */
  async end(id: string): Promise<void> {
    this.#named(id)
    await this.#close(id)
  }

  /**
   * Ends it with `work`, which makes its edits running. From now on nobody edits in it, commits it or rolls it back; an
   * edit that was begun before is among those that `work` asks for in its turn. When `work` fails it is open as before.
   * A crash behind `work` leaves it open, and refuses its commit: its records have changed.
   */
  async spent<T>(id: string, actor: Actor, work: (edits: () => readonly TransactionWrite[]) => Promise<T>): Promise<T> {
    this.join(id, actor)
    this.#applying = id
    try {
      const result = await work(() => this.#open?.writes ?? [])
      await this.#close(id)
      return result
    } finally {
      this.#applying = undefined
    }
  }

  async #close(id: string): Promise<void> {
    await this.#table.remove([id])
    if (this.#open?.id === id) this.#open = undefined
  }

  #named(id: string): Stored {
    const open = this.#current()
    if (id === this.#applying) {
      throw new ApiError('APPLY_IN_PROGRESS', `The transaction ${id} is being applied right now`, {
        headers: { 'Retry-After': '1' },
      })
    }
    if (open?.id === id) return open
    throw new ApiError(
      'NOT_FOUND',
      `There is no open transaction ${id}; one that is idle for 15 minutes is rolled back`,
    )
  }

  #current(): Stored | undefined {
    const open = this.#open
    if (open === undefined || this.#idle_ms(open) <= IDLE_MS_MAX) return open
    this.#open = undefined
    this.#log.info('an idle transaction was rolled back', { id: open.id, owner: open.owner.email })
    return undefined
  }

  #now(): Stored['used'] {
    return { bootId: this.#clock.bootId, uptime_ms: this.#clock.uptime_ms() }
  }

  /** Over a start of the machine: nobody knows how long it was off, so it counts from there. */
  #idle_ms({ used }: Stored): number {
    const uptime_ms = this.#clock.uptime_ms()
    return used.bootId === this.#clock.bootId ? uptime_ms - used.uptime_ms : uptime_ms
  }

  #entryOf(stored: Stored): TransactionEntry {
    const { id, owner, openedAt_ms, writes } = stored
    return {
      id,
      owner: owner.email,
      openedAt: new Date(openedAt_ms).toISOString(),
      expiresAt: new Date(this.#clock.now_ms() + IDLE_MS_MAX - this.#idle_ms(stored)).toISOString(),
      count: writes.length,
    }
  }

  async #put(stored: Stored): Promise<void> {
    await this.#table.put(stored.id, stored)
    this.#open = stored
  }

  /** What idle ones have left. */
  async #drop(except: string): Promise<void> {
    const left = this.#table.entries().filter(({ key }) => key !== except)
    if (left.length > 0) await this.#table.remove(left.map(({ key }) => key))
  }
}
