import type { ConfigStore, SideTable, Write } from '../../storage/config/config-store.ts'
import type { Actor, TransactionEntry } from '../api/context.ts'
import type { Clock } from '../clock.ts'
import { ApiError } from '../errors.ts'
import { newId } from '../ids.ts'
import type { Log } from '../log.ts'

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
  readonly usedAt_ms: number
  readonly writes: readonly TransactionWrite[]
}

/** What a request does inside a transaction starts from, and is added to. */
export interface Joined {
  readonly id: string
  readonly writes: readonly TransactionWrite[]
  save(writes: readonly TransactionWrite[]): Promise<void>
}

/**
 * The API's editing session: edits that nobody else sees until they are committed to the candidate, all or none. One at a
 * time; kept durably, so that a restart of the daemon loses nothing.
 */
export class Transactions {
  readonly #table: SideTable
  readonly #clock: Clock
  readonly #log: Log
  #open: Stored | undefined

  constructor(store: Pick<ConfigStore, 'transactions'>, clock: Clock, log: Log) {
    this.#table = store.transactions
    this.#clock = clock
    this.#log = log
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by #put only
    this.#open = this.#table.entries()[0]?.value as Stored | undefined
  }

  /** Whether a request's transaction is worth asking for. */
  get isOpen(): boolean {
    return this.#current() !== undefined
  }

  list(): readonly TransactionEntry[] {
    const open = this.#current()
    return open === undefined ? [] : [entryOf(open)]
  }

  refuseOpen(): void {
    const open = this.#current()
    if (open === undefined) return
    const message = `The transaction ${open.id} of ${open.owner.email} is open; commit it or roll it back first`
    throw new ApiError('TRANSACTION_OPEN', message, { data: entryOf(open) })
  }

  async begin(owner: Actor): Promise<TransactionEntry> {
    this.refuseOpen()
    const now_ms = this.#clock.now_ms()
    const { userId, email } = owner
    const opened = { id: newId(), owner: { userId, email }, openedAt_ms: now_ms, usedAt_ms: now_ms, writes: [] }
    // Before it is durable, so that of two requests at once one is refused.
    this.#open = opened
    try {
      await this.#drop(opened.id)
      await this.#table.put(opened.id, opened)
    } catch (error) {
      this.#open = undefined
      throw error
    }
    return entryOf(opened)
  }

  /** The transaction that a request names; refuses one that is not open, or somebody else's. */
  join(id: string, actor: Actor): Joined {
    const open = this.#named(id)
    if (open.owner.userId !== actor.userId) {
      throw new ApiError('PERMISSION_DENIED', `The transaction ${id} belongs to ${open.owner.email}`)
    }
    const used = { ...open, usedAt_ms: this.#clock.now_ms() }
    this.#open = used
    return { id, writes: open.writes, save: (writes) => this.#put({ ...used, writes }) }
  }

  /** Ends it; what was edited in it is gone unless it was committed before. */
  async end(id: string): Promise<void> {
    this.#named(id)
    await this.#table.remove([id])
    this.#open = undefined
  }

  #named(id: string): Stored {
    const open = this.#current()
    if (open?.id === id) return open
    throw new ApiError(
      'NOT_FOUND',
      `There is no open transaction ${id}; one that is idle for 15 minutes is rolled back`,
    )
  }

  #current(): Stored | undefined {
    const open = this.#open
    if (open === undefined || this.#clock.now_ms() - open.usedAt_ms <= IDLE_MS_MAX) return open
    this.#open = undefined
    this.#log.info('an idle transaction was rolled back', { id: open.id, owner: open.owner.email })
    return undefined
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

function entryOf({ id, owner, openedAt_ms, usedAt_ms, writes }: Stored): TransactionEntry {
  return {
    id,
    owner: owner.email,
    openedAt: new Date(openedAt_ms).toISOString(),
    expiresAt: new Date(usedAt_ms + IDLE_MS_MAX).toISOString(),
    count: writes.length,
  }
}
