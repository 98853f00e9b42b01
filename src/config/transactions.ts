import type { ConfigStore, SharedTable, SideTable, Write } from '../../storage/config/config-store.ts'
import type { Actor } from '../context/actor.ts'
import type { HeldElsewhere, TransactionEntry } from '../context/staging.ts'
import type { MachineClock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import { Repeated } from '../base/repeated.ts'
import { judgedWrites } from './made.ts'
import { type May, refuseForeign } from './needed-rights.ts'
import { configView } from './views.ts'

/** A transaction that is not used for this long is rolled back. */
export const IDLE_MS_MAX = 15 * 60_000
const LOOK_EVERY_MS = 10_000

/** One record edited in a transaction. */
export interface TransactionWrite extends Write {
  /** Revision of the record in the candidate when it was first edited; null if it did not exist. */
  readonly base: number | null
  /** Negative and unique within the transaction; the ETag of the record inside it. */
  readonly revision: number
}

/** The nodes that may hold the open transaction. */
export interface Holders {
  /** Id of this node. */
  readonly self: string
  /** Whether edits written now can be committed later. */
  readonly hasQuorum: boolean
  /** Returns the name of a node of the cluster, including this one; undefined if no node has the id. */
  nameOf(nodeId: string): string | undefined
  /** Returns whether the other node answers this one. */
  isReachable(nodeId: string): boolean
}

const ALONE: Holders = { self: '', hasQuorum: true, nameOf: () => undefined, isReachable: () => false }

/** A time since boot: setting the clock neither ends nor extends a transaction. */
interface Moment {
  readonly bootId: string
  readonly uptime_ms: number
}

/** The part of a transaction that all nodes know. */
interface Opened {
  readonly id: string
  /** Id of the node that opened it: this node holds its edits, and knows when it was last used. */
  readonly nodeId: string
  readonly owner: { readonly userId: string; readonly email: string }
  readonly openedAt_ms: number
  /** Time of the last use, by the clock of the node that holds it. */
  readonly used: Moment
}

/** The part of a transaction that only its node holds. */
interface Held {
  readonly id: string
  readonly used: Moment
  readonly writes: readonly TransactionWrite[]
}

/** An open transaction in a request: the edits so far, and how to store more. */
export interface Joined {
  readonly id: string
  readonly writes: readonly TransactionWrite[]
  save(writes: readonly TransactionWrite[]): Promise<void>
}

/**
 * The API's editing session: edits that nobody else sees until they are committed to the candidate, all or none. A
 * cluster has at most one at a time. The node that opened it stores its edits durably, so a restart of the daemon loses
 * nothing; the other nodes forward requests of the transaction to that node.
 */
export class Transactions {
  readonly #store: Pick<ConfigStore, 'candidate'>
  readonly #opened: SharedTable
  readonly #kept: SideTable
  readonly #clock: MachineClock
  readonly #log: Log
  readonly #holders: Holders
  readonly #looks: Repeated
  #open: Opened | undefined
  #held: Held | undefined
  /** When this node last heard of the node that holds the open transaction. */
  #heard_ms: number
  /** Id of the transaction that is being applied. */
  #applying: string | undefined

  constructor(
    store: Pick<ConfigStore, 'openTransactions' | 'transactions' | 'candidate'>,
    clock: MachineClock,
    log: Log,
    holders: Holders = ALONE,
  ) {
    this.#store = store
    this.#opened = store.openTransactions
    this.#kept = store.transactions
    this.#clock = clock
    this.#log = log
    this.#holders = holders
    this.#heard_ms = clock.uptime_ms()
    this.#looks = new Repeated('the open transaction', () => this.look(), LOOK_EVERY_MS, log)
    /* oxlint-disable typescript/no-unsafe-type-assertion -- written by this class only */
    this.#open = this.#opened.entries()[0]?.value as Opened | undefined
    this.#held = this.#kept.entries().find(({ key }) => key === this.#open?.id)?.value as Held | undefined
    this.#opened.follow(({ puts, removed }) => {
      if (this.#open !== undefined && removed.includes(this.#open.id)) this.#open = undefined
      const [put] = puts
      if (put === undefined) return
      this.#open = put.value as Opened
      this.#heard_ms = clock.uptime_ms()
    })
    /* oxlint-enable typescript/no-unsafe-type-assertion */
  }

  start(): void {
    this.#looks.start()
  }

  close(): void {
    this.#looks.stop()
  }

  /** Ends a transaction that is idle or whose node is gone, and deletes what an ended one has left here. */
  async look(): Promise<void> {
    const open = this.#open
    if (open !== undefined && this.#current() === undefined && this.#holders.hasQuorum) {
      if (await this.#remove(open.id))
        this.#log.info('an idle transaction was rolled back', { id: open.id, owner: open.owner.email })
    }
    const left = this.#kept.entries().filter(({ key }) => key !== this.#open?.id)
    if (left.length > 0) await this.#kept.remove(left.map(({ key }) => key))
  }

  list(): readonly TransactionEntry[] {
    const open = this.#current()
    return open === undefined ? [] : [this.#entryOf(open)]
  }

  /** The open transaction of another node; undefined if none is open or this node holds it. */
  get elsewhere(): HeldElsewhere | undefined {
    if (this.#open === undefined || this.#isHere(this.#open)) return undefined
    const open = this.#current()
    return open && { id: open.id, nodeId: open.nodeId, isReachable: this.#holders.isReachable(open.nodeId) }
  }

  refuseOpen(): void {
    const open = this.#current()
    if (open === undefined) return
    const where = this.#holders.nameOf(open.nodeId)
    const on = where === undefined ? '' : ` on the node ${where}`
    const message = `The transaction ${open.id} of ${open.owner.email} is open${on}; commit it or roll it back first`
    throw new ApiError('TRANSACTION_OPEN', message, { data: this.#entryOf(open) })
  }

  refuseUnknown(id: string): void {
    this.#named(id)
  }

  /** Refuses a request about all pending changes inside a transaction: it must not appear to act on the transaction. */
  refuseInside(id: string): void {
    const open = this.#named(id)
    const message =
      'This request concerns pending changes, not the edits of a transaction; ' +
      `send it without X-Transaction-Id, or commit or roll back the transaction ${id} first`
    throw new ApiError('TRANSACTION_OPEN', message, { data: this.#entryOf(open) })
  }

  async begin(owner: Actor): Promise<TransactionEntry> {
    const { userId, email } = owner
    const [openedAt_ms, nodeId] = [this.#clock.now_ms(), this.#holders.self]
    const opened: Opened = { id: newId(), nodeId, owner: { userId, email }, openedAt_ms, used: this.#now() }
    // An opening by another node or request is ordered before this one, or checks again after it.
    await this.#opened.update(() => {
      this.refuseOpen()
      return { puts: [{ key: opened.id, value: opened }], removed: this.#opened.entries().map(({ key }) => key) }
    })
    return this.#entryOf(opened)
  }

  /** Returns the transaction that a request names; refuses one that is not open or belongs to another user. */
  join(id: string, actor: Actor): Joined {
    const open = this.#here(id)
    if (open.owner.userId !== actor.userId) {
      throw new ApiError('PERMISSION_DENIED', `The transaction ${id} belongs to ${open.owner.email}`)
    }
    const used = { ...this.#heldOf(open), used: this.#now() }
    this.#held = used
    return { id, writes: used.writes, save: (writes) => this.#save({ ...used, writes }) }
  }

  /** Refuses callers that could not have made another user's edits, because rolling back deletes those. */
  refuseForeign(id: string, { userId }: Actor, may: May): void {
    const { owner } = this.#named(id)
    if (owner.userId === userId) return
    const { writes } = this.#heldOf(this.#here(id))
    const edits = judgedWrites(this.#store, writes, { actor: owner.email, endpoint: '' })
    refuseForeign(edits, may, `ask ${owner.email}, or wait: idle transactions are rolled back after 15 minutes`, () =>
      configView(this.#store.candidate),
    )
  }

  /** Ends the transaction; its edits are lost unless they were committed before. */
  async end(id: string): Promise<void> {
    this.#named(id)
    await this.#close(id)
  }

  /** Deletes the edits of a transaction that has ended. */
  async forget(id: string): Promise<void> {
    const isKept = this.#held?.id === id && this.#held.writes.length > 0
    this.#held = undefined
    if (isKept) await this.#kept.remove([id])
  }

  /**
   * Applies the transaction with `work` and ends it. From now on nobody can edit it, commit it or roll it back; an edit
   * that began earlier is included when `work` calls `edits` in its turn. If `work` fails, the transaction is open as
   * before. A crash after `work` leaves it open, but its commit is refused because its records have changed.
   */
  async spent<T>(id: string, actor: Actor, work: (edits: () => readonly TransactionWrite[]) => Promise<T>): Promise<T> {
    this.join(id, actor)
    this.#applying = id
    try {
      const result = await work(() => (this.#held?.id === id ? this.#held.writes : []))
      await this.#close(id)
      return result
    } finally {
      this.#applying = undefined
    }
  }

  async #close(id: string): Promise<void> {
    await this.#remove(id)
    await this.forget(id)
  }

  /** Resolves with whether it was still open. */
  #remove(id: string): Promise<boolean> {
    return this.#opened.update(() => (this.#open?.id === id ? { puts: [], removed: [id] } : undefined))
  }

  #named(id: string): Opened {
    const open = this.#current()
    if (id === this.#applying) {
      throw new ApiError('APPLY_IN_PROGRESS', `The transaction ${id} is being applied right now`, {
        headers: { 'Retry-After': '1' },
      })
    }
    if (open?.id === id) return open
    throw unknown(id)
  }

  /**
   * Returns the open transaction, which this node must hold. Requests are forwarded to its node, unless they concern
   * another node.
   */
  #here(id: string): Opened {
    const open = this.#named(id)
    if (this.#isHere(open)) return open
    const { nodeId } = open
    const where = this.#holders.nameOf(nodeId) ?? nodeId
    if (!this.#holders.isReachable(nodeId)) {
      const message = `The node ${where}, which holds the transaction ${id}, cannot be reached; the owner may roll it back`
      throw new ApiError('NODE_UNREACHABLE', message, { data: { nodeId, mayBeDone: false } })
    }
    const message = `The node ${where} holds the transaction ${id}: records of another node alone cannot be part of it`
    throw new ApiError('TRANSACTION_OPEN', message, { data: this.#entryOf(open) })
  }

  #isHere({ nodeId }: Opened): boolean {
    return nodeId === this.#holders.self
  }

  #heldOf({ id, used }: Opened): Held {
    return this.#held?.id === id ? this.#held : { id, used, writes: [] }
  }

  #current(): Opened | undefined {
    const open = this.#open
    return open === undefined || this.#idle_ms(open) > IDLE_MS_MAX ? undefined : open
  }

  #now(): Moment {
    return { bootId: this.#clock.bootId, uptime_ms: this.#clock.uptime_ms() }
  }

  /**
   * How long the transaction has been idle. After a reboot it counts from the boot, because the time before is unknown.
   * For a transaction of another node, the time counts since that node was last reachable; while it is reachable, it
   * counts for itself.
   */
  #idle_ms(open: Opened): number {
    const uptime_ms = this.#clock.uptime_ms()
    if (this.#isHere(open)) {
      const { used } = this.#heldOf(open)
      return used.bootId === this.#clock.bootId ? uptime_ms - used.uptime_ms : uptime_ms
    }
    if (this.#holders.nameOf(open.nodeId) === undefined) return Infinity
    if (this.#holders.isReachable(open.nodeId)) this.#heard_ms = uptime_ms
    return uptime_ms - this.#heard_ms
  }

  #entryOf(open: Opened): TransactionEntry {
    const { id, nodeId, owner, openedAt_ms } = open
    return {
      id,
      nodeId,
      owner: owner.email,
      openedAt: new Date(openedAt_ms).toISOString(),
      expiresAt: new Date(this.#clock.now_ms() + IDLE_MS_MAX - this.#idle_ms(open)).toISOString(),
      ...(this.#isHere(open) ? { count: this.#heldOf(open).writes.length } : {}),
    }
  }

  async #save(held: Held): Promise<void> {
    if (this.#open?.id !== held.id) throw unknown(held.id)
    // Other nodes may be ending it: do not confirm an edit whose commit cannot succeed.
    if (!this.#holders.hasQuorum) {
      const message = 'Too few nodes of the cluster answer; the transaction is unchanged, and can be rolled back later'
      throw new ApiError('NO_QUORUM', message)
    }
    await this.#kept.put(held.id, held)
    this.#held = held
  }
}

const unknown = (id: string) =>
  new ApiError('NOT_FOUND', `There is no open transaction ${id}; idle transactions are rolled back after 15 minutes`)
