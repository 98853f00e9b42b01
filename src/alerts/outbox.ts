import type { Put, SideTable } from '../../storage/config/config-store.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { AlertMessage, Sent } from '../model/alerts.ts'
import type { OUTCOMES } from '../model/shown-alerts.ts'

type Outcome = (typeof OUTCOMES)[number]

/** The state of a message at one target. */
export interface Delivery {
  readonly outcome: Outcome
  /** ISO 8601. */
  readonly at: string
  readonly reason?: string
}

/** A stored message with its state at each target. */
export interface Kept {
  readonly number: number
  readonly message: AlertMessage
  readonly targets: Readonly<Record<string, Delivery>>
}

/** Maximum number of messages that wait for one target. */
const WAITING_MAX = 1_000
const AGE_MS_MAX = 86_400_000
/** Maximum number of messages kept after they were sent or dropped. */
const DONE_MAX = 1_000
/** Maximum number of messages in one batch. */
const BATCH_MAX = 20
const WAIT_FIRST_MS = 1_000
const WAIT_MS_MAX = 300_000
const RETRY_AFTER_S_MAX = 3_600

export const MESSAGE_PREFIX = 'm'
export const DROPPED_PREFIX = 'd'
const keyOf = (number: number) => `${MESSAGE_PREFIX}${String(number).padStart(16, '0')}`

export interface OutboxParts {
  readonly table: Pick<SideTable, 'write'>
  /**
   * Sends messages to a target, oldest first; undefined if the target does not exist, or is off. `having` are
   * recipients who have the first one.
   */
  readonly send: (
    targetId: string,
    messages: readonly AlertMessage[],
    having: readonly string[],
  ) => Promise<Sent | undefined>
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'info'>
}

/** The messages of one target, and their progress. */
export class Queue {
  readonly waiting: Kept[] = []
  delivered = 0
  dropped: number
  failures = 0
  /** Recipients who have the first waiting message, which others have not. */
  having: readonly string[] = []
  lastError: string | null = null
  lastDeliveredAt: string | null = null
  changedAt_ms: number
  /** In wall-clock time; undefined if no retry is scheduled. */
  nextTry_ms: number | undefined
  /** Whether the target itself has named that time. */
  isNamed = false
  isBusy = false
  timer: NodeJS.Timeout | undefined

  constructor(dropped: number, now_ms: number) {
    this.dropped = dropped
    this.changedAt_ms = now_ms
  }
}

/**
 * Messages on their way: on the disk before anything is sent, each target in its own order and pace. If it is unknown
 * whether a message was accepted, it is sent again with the same id.
 */
export class Outbox {
  readonly #parts: OutboxParts
  readonly #queues = new Map<string, Queue>()
  readonly #kept = new Map<string, Kept>()
  readonly #underway = new Set<Promise<void>>()
  #next: number
  #settling: Promise<void> = Promise.resolve()
  /** When each message began to wait, on the monotonic clock, so that setting the clock makes no message older. */
  readonly #since_ms = new WeakMap<AlertMessage, number>()
  /** Set when nothing new may begin. */
  #isClosed = false
  /** Set when results are no longer stored. */
  #isOver = false

  constructor(kept: readonly Kept[], dropped: ReadonlyMap<string, number>, parts: OutboxParts) {
    this.#parts = parts
    const inOrder = kept.toSorted((a, b) => a.number - b.number)
    this.#next = (inOrder.at(-1)?.number ?? 0) + 1
    for (const [targetId, count] of dropped) this.#queues.set(targetId, new Queue(count, parts.clock.now_ms()))
    for (const one of inOrder) this.#take(one)
  }

  #take(kept: Kept): void {
    const { message } = kept
    const { clock } = this.#parts
    this.#kept.set(message.id, kept)
    this.#since_ms.set(message, clock.monotonic_ms() - Math.max(0, clock.now_ms() - Date.parse(message.at)))
    for (const [targetId, { outcome }] of Object.entries(kept.targets))
      if (outcome === 'waiting') this.#queueOf(targetId).waiting.push(kept)
  }

  #queueOf(targetId: string): Queue {
    const known = this.#queues.get(targetId)
    if (known !== undefined) return known
    const made = new Queue(0, this.#parts.clock.now_ms())
    this.#queues.set(targetId, made)
    return made
  }

  queue(targetId: string): Queue | undefined {
    return this.#queues.get(targetId)
  }
  message(id: string): Kept | undefined {
    return this.#kept.get(id)
  }

  /** Returns the rows of new messages, to be written with their alerts; call `added` afterwards. */
  rowsFor(messages: readonly { readonly message: AlertMessage; readonly targets: readonly string[] }[]) {
    const at = this.#at()
    const made = messages.map(({ message, targets }): Kept => {
      const waiting = targets.map((id) => [id, { outcome: 'waiting', at }] as const)
      return { number: this.#next++, message, targets: Object.fromEntries(waiting) }
    })
    const puts: readonly Put[] = made.map((kept) => ({ key: keyOf(kept.number), value: kept }))
    return { made, puts }
  }

  /** Call when the rows are on the disk. */
  added(made: readonly Kept[]): void {
    for (const kept of made) this.#take(kept)
    for (const targetId of new Set(made.flatMap(({ targets }) => Object.keys(targets)))) this.#pump(targetId)
  }

  /** Drops targets that are gone and have nothing left. Returns the keys of their rows. */
  forget(isTarget: (id: string) => boolean): readonly string[] {
    const isOver = ([id, { isBusy, waiting }]: readonly [string, Queue]) =>
      !isTarget(id) && !isBusy && waiting.length === 0
    const gone = [...this.#queues].filter(isOver).map(([id]) => id)
    for (const id of gone) this.#queues.delete(id)
    return gone.map((id) => DROPPED_PREFIX + id)
  }

  /** Resumes sending after a start, or after an apply, which may have mended what was wrong. */
  wake(isChanged: (targetId: string) => boolean = () => true): void {
    for (const [targetId, queue] of this.#queues) {
      const isAwaited = queue.isNamed && queue.timer !== undefined && !isChanged(targetId)
      if (queue.isBusy || isAwaited) continue
      clearTimeout(queue.timer)
      queue.timer = undefined
      queue.nextTry_ms = undefined
      this.#pump(targetId)
    }
  }

  #pump(targetId: string): void {
    const queue = this.#queueOf(targetId)
    if (this.#isClosed || queue.isBusy || queue.timer !== undefined || queue.waiting.length === 0) return
    queue.isBusy = true
    const done = this.#work(targetId, queue).finally(() => {
      queue.isBusy = false
      this.#underway.delete(done)
      if (queue.timer === undefined) this.#pump(targetId)
    })
    this.#underway.add(done)
  }

  async #work(targetId: string, queue: Queue): Promise<void> {
    const { send, clock, log } = this.#parts
    try {
      await this.#dropSurplus(targetId, queue)
      const batch = queue.waiting.slice(0, BATCH_MAX)
      if (batch.length === 0) return
      const sent = await send(
        targetId,
        batch.map(({ message }) => message),
        queue.having,
      )
      if (this.#isOver) return
      if (sent === undefined)
        return await this.#drop(targetId, queue, queue.waiting.length, 'the target is disabled or was deleted')
      const { taken, failure } = sent
      if (taken > 0) await this.#delivered(targetId, queue, taken)
      if (failure === undefined) return
      queue.having = failure.having ?? queue.having
      queue.lastError = failure.reason
      queue.changedAt_ms = clock.now_ms()
      if (failure.isFinal === true) return await this.#drop(targetId, queue, 1, failure.reason)
      if (queue.failures++ === 0)
        log.warn('an alert target does not accept messages', { target: targetId, reason: failure.reason })
      this.#rest(targetId, queue, failure.retryAfter_s)
    } catch (error) {
      // A message whose result could not be stored is sent again.
      if (this.#isClosed) return
      queue.lastError = String(error)
      queue.failures++
      log.warn('alert messages could not be sent; this is retried', { target: targetId, reason: String(error) })
      this.#rest(targetId, queue, undefined)
    }
  }

  #rest(targetId: string, queue: Queue, retryAfter_s: number | undefined): void {
    if (this.#isClosed) return
    const doubled_ms = Math.min(WAIT_MS_MAX, WAIT_FIRST_MS * 2 ** Math.min(20, queue.failures - 1))
    const wait_ms = Math.max(doubled_ms, Math.min(retryAfter_s ?? 0, RETRY_AFTER_S_MAX) * 1_000)
    queue.nextTry_ms = this.#parts.clock.now_ms() + wait_ms
    queue.isNamed = retryAfter_s !== undefined
    queue.timer = setTimeout(() => {
      queue.timer = undefined
      queue.nextTry_ms = undefined
      this.#pump(targetId)
    }, wait_ms).unref()
  }

  async #delivered(targetId: string, queue: Queue, taken: number): Promise<void> {
    if (queue.failures > 0) this.#parts.log.info('an alert target accepts messages again', { target: targetId })
    queue.failures = 0
    queue.lastError = null
    queue.lastDeliveredAt = this.#at()
    await this.#settle(targetId, queue, taken, { outcome: 'delivered', at: this.#at() })
    queue.delivered += taken
  }

  /** Drops the oldest messages first, because a recipient that returns needs the present state. */
  async #dropSurplus(targetId: string, queue: Queue): Promise<void> {
    const oldest_ms = this.#parts.clock.monotonic_ms() - AGE_MS_MAX
    const old = queue.waiting.findIndex(({ message }) => (this.#since_ms.get(message) ?? oldest_ms) >= oldest_ms)
    if (old !== 0 && queue.waiting.length > 0)
      await this.#drop(targetId, queue, old < 0 ? queue.waiting.length : old, 'it waited for a day')
    const surplus = queue.waiting.length - WAITING_MAX
    if (surplus > 0) await this.#drop(targetId, queue, surplus, `more than ${WAITING_MAX} wait`)
  }

  async #drop(targetId: string, queue: Queue, count: number, reason: string): Promise<void> {
    this.#parts.log.warn('alert messages were dropped', { target: targetId, count, reason })
    const dropped = queue.dropped + count
    const counted = { key: DROPPED_PREFIX + targetId, value: dropped }
    await this.#settle(targetId, queue, count, { outcome: 'dropped', at: this.#at(), reason }, [counted])
    queue.dropped = dropped
  }

  /**
   * Stores the result of the first waiting messages. Serialised over all targets, because the row of a message has the
   * results of all of them.
   */
  #settle(targetId: string, queue: Queue, count: number, delivery: Delivery, more: readonly Put[] = []): Promise<void> {
    const done = this.#settling.then(() => this.#settleNow(targetId, queue, count, delivery, more))
    this.#settling = done.catch(() => undefined)
    return done
  }

  async #settleNow(targetId: string, queue: Queue, count: number, delivery: Delivery, more: readonly Put[]) {
    const settled = queue.waiting.slice(0, count).map((kept): Kept => {
      const { targets } = this.#kept.get(kept.message.id) ?? kept
      return { ...kept, targets: { ...targets, [targetId]: delivery } }
    })
    const changed = new Map(settled.map((kept) => [kept.message.id, kept]))
    const surplus = this.#surplus(changed)
    const gone = new Set(surplus.map(({ message }) => message.id))
    const puts = settled
      .filter(({ message }) => !gone.has(message.id))
      .map((kept) => ({ key: keyOf(kept.number), value: kept }))
    await this.#parts.table.write(
      [...puts, ...more],
      surplus.map(({ number }) => keyOf(number)),
    )
    for (const [id, kept] of changed) this.#kept.set(id, kept)
    for (const id of gone) this.#kept.delete(id)
    queue.waiting.splice(0, count)
    if (count > 0) queue.having = []
    queue.changedAt_ms = this.#parts.clock.now_ms()
  }

  /** Returns the oldest messages that wait for no target. */
  #surplus(changed: ReadonlyMap<string, Kept>): readonly Kept[] {
    let left = this.#kept.size - DONE_MAX
    const surplus: Kept[] = []
    for (const [id, kept] of this.#kept) {
      if (left <= 0) break
      const now = changed.get(id) ?? kept
      if (Object.values(now.targets).some(({ outcome }) => outcome === 'waiting')) continue
      surplus.push(now)
      left--
    }
    return surplus
  }

  #at = (): string => new Date(this.#parts.clock.now_ms()).toISOString()

  /** The next start sends again what is under way. */
  async close(patience: Promise<unknown>): Promise<void> {
    this.#isClosed = true
    for (const queue of this.#queues.values()) clearTimeout(queue.timer)
    await Promise.race([Promise.all(this.#underway), patience])
    this.#isOver = true
  }
}
