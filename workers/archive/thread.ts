import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../src/base/clock.ts'
import type { IpvsPlan } from '../../src/ipvs/names.ts'
import type { ArchiveObject } from '../../storage/archive/catalog.ts'
import { checkArchive } from '../../storage/archive/check.ts'
import { DAMAGED, damageText } from '../../storage/archive/damage.ts'
import { ArchiveWriter } from '../../storage/archive/writer.ts'
import type { Feed, Rhythm } from './feed.ts'
import type { FromArchive, ObjectPlace } from './messages.ts'
import type { PollTime } from './sampled-seconds.ts'
import { StorageWatch } from './storage-watch.ts'
import { type ClockEvent, TickClock } from './tick-clock.ts'
import { reasonOf } from '../../src/base/reason.ts'

const POLL_DEADLINE_MS = 900
/** If the clock is behind the archive by no more than this, the archive waits; beyond that it steps back. */
const WAIT_FOR_CLOCK_S = 60
/** After boot the clock may not be set yet; NTP has set it by the end of this time. */
const START_PATIENCE_S = 600
/** An earlier time means that the clock was never set (1970): the archive is not discarded for it. */
const PLAUSIBLE_CLOCK_S = 1_600_000_000

/** Rejects when the signal aborts. */
type Pause = (ms: number, signal: AbortSignal) => Promise<void>
const sleepFor: Pause = (ms, signal) => sleep(ms, undefined, { signal })

const KEEPS_LESS = 'the archive stores less'
const NOT_STORED = 'the archive cannot be stored'
const FAILED = 'the archive thread failed'
const NO_PLACES = 'the archive is full'
const NOT_SET = 'the clock of the machine is not set'
const BEHIND = 'the clock of the machine is behind the archive'
const LASTING: ReadonlySet<string> = new Set([KEEPS_LESS, NOT_STORED, FAILED, NO_PLACES, NOT_SET, BEHIND])

export type Post<Tick> = (message: FromArchive<Tick>, transfer: readonly ArrayBuffer[]) => void

/** One archive with the polls that fill it. */
export class ArchiveThread<Polled, Absorbed extends object, Tick> {
  readonly #feed: Feed<Polled, Absorbed, Tick>
  readonly #writer: ArchiveWriter
  readonly #rhythm: Rhythm<Polled, Absorbed, Tick>
  readonly #clock: TickClock
  readonly #post: Post<Tick>
  readonly #pause: Pause
  readonly #storage: StorageWatch
  readonly #stopping = new AbortController()
  /** Runs polls, captures and checks one after the other. */
  #queue: Promise<void> = Promise.resolve()
  #ended: Promise<void> = Promise.resolve()
  #up: boolean | undefined
  #since_ms = 0
  readonly #warned = new Set<string>()
  #ticked_s = 0
  /** Monotonic time since which the archive has been waiting for the clock. */
  #behindSince_s: number | undefined

  constructor(
    directory: string,
    rhythm: Rhythm<Polled, Absorbed, Tick>,
    clock: Clock,
    post: Post<Tick>,
    pause: Pause = sleepFor,
  ) {
    this.#pause = pause
    this.#clock = new TickClock(clock)
    this.#post = post
    this.#rhythm = rhythm
    this.#storage = new StorageWatch(directory)
    this.#writer = new ArchiveWriter(directory, this.#now_s(), rhythm.tiers)
    this.#feed = rhythm.feed(this.#writer)
    const { added } = this.#writer.registry.takeChanges()
    const { header, slabs } = this.#writer.ring
    post({ type: 'ready', header, slabs, objects: added.map(placeOf) }, [])
  }

  /** The second that has begun. */
  #now_s(): number {
    return Math.floor(this.#clock.now_ms() / this.#step_ms)
  }

  get #step_ms(): number {
    return this.#rhythm.step_s * 1_000
  }

  run(): Promise<void> {
    this.#ended = this.#loop()
    return this.#ended
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stopping
    // The first poll ends its second at once, so that live figures exist when the daemon answers.
    await this.#serially(() => this.#tick(this.#now_s()))
    while (!signal.aborted) {
      const now = this.#clock.now_ms()
      const { offset_ms } = this.#rhythm
      // Slewing back makes a second longer, which must not be polled twice.
      const tick_s = Math.max(Math.floor((now - offset_ms) / this.#step_ms) + 1, this.#ticked_s + 1)
      try {
        await this.#pause(tick_s * this.#step_ms + offset_ms - now, signal)
      } catch {
        return
      }
      await this.#serially(() => this.#tick(tick_s))
    }
  }

  #serially(task: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(task).catch((error: unknown) => this.#warn(FAILED, error))
    return this.#queue
  }

  /**
   * Polls the source. The time is that of the answer and not of its processing, because storing the first poll of many
   * objects takes long.
   */
  async #poll() {
    const asked_s = this.#clock.monotonic_s()
    const polled = await this.#feed.poll(POLL_DEADLINE_MS)
    const { step_s } = this.#rhythm
    const monotonic_s = this.#clock.monotonic_s() / step_s
    const time: PollTime = {
      archive_s: this.#clock.now_ms() / this.#step_ms,
      monotonic_s,
      took_s: monotonic_s - asked_s / step_s,
      wall_s: this.#clock.wall_ms() / 1_000,
    }
    return { polled, time }
  }

  async #tick(planned_s: number): Promise<void> {
    const event = this.#clock.adjust()
    // After a jump of the clock the planned second is meaningless, and a thread that was held up is late.
    const now_s = this.#now_s()
    const tick_s = event === 'steady' ? Math.max(planned_s, now_s) : now_s
    if (event !== 'steady') this.#warn(`the clock of the machine ${event}`, `now ${this.#told_s(tick_s)}`)
    this.#ticked_s = tick_s
    if (this.#feed.isIdle) return
    this.#attempt(() => this.#followClock(tick_s, event))
    const { polled, time } = await this.#poll()
    const absorbed = this.#feed.absorb(polled, time)
    this.#attempt(() => {
      if (typeof absorbed === 'string') this.#feed.collector.miss(tick_s, time)
      else this.#feed.collector.close(tick_s, time)
    })
    this.#announce()
    const damage = damageText(this.#writer.databases.damage.take())
    if (damage !== undefined) this.#warn(DAMAGED, damage)
    this.#postTick(absorbed)
  }

  #told_s(second: number): number {
    return second * this.#rhythm.step_s
  }

  /**
   * Runs work that may write. If the disk refuses, nothing was stored: the rows stay in the ring until the next commit.
   */
  #attempt(write: () => void): void {
    const { hwm_s } = this.#writer
    const now_ms = this.#clock.now_ms()
    this.#writer.hold(this.#storage.forbids(now_ms))
    try {
      write()
      if (this.#writer.hwm_s !== hwm_s) this.#storage.stored(this.#writer.shortage, now_ms)
      if (this.#writer.shortage !== undefined) this.#writer.relieve()
      if (this.#storage.fault === undefined) this.#wellAgain(KEEPS_LESS, NOT_STORED, FAILED)
    } catch (error) {
      this.#storage.failed(error, now_ms)
    }
    const { fault } = this.#storage
    if (fault !== undefined) this.#warn(fault.isStoring ? KEEPS_LESS : NOT_STORED, fault.reason)
  }

  #followClock(tick_s: number, event: ClockEvent): void {
    const { hwm_s } = this.#writer
    const isStep = event === 'stepped-back'
    if (tick_s + (isStep ? 0 : WAIT_FOR_CLOCK_S / this.#rhythm.step_s) >= hwm_s) {
      this.#behindSince_s = undefined
      this.#wellAgain(NOT_SET, BEHIND)
      return
    }
    if (this.#told_s(tick_s) < PLAUSIBLE_CLOCK_S) return this.#warn(NOT_SET, `now ${this.#told_s(tick_s)}`)
    this.#behindSince_s ??= this.#clock.monotonic_s()
    if (!isStep && this.#clock.monotonic_s() - this.#behindSince_s < START_PATIENCE_S) {
      const advice = 'newer statistics are dropped in ten minutes unless the clock is corrected'
      return this.#warn(BEHIND, `${this.#told_s(hwm_s - tick_s)} s; ${advice}`)
    }
    this.#warn(
      'the clock was set back: newer statistics are dropped',
      `from ${this.#told_s(hwm_s)} to ${this.#told_s(tick_s)}`,
    )
    // If the disk refuses to step back, the next tick retries without patience.
    this.#behindSince_s = Number.NEGATIVE_INFINITY
    // The second that ends now is written again.
    this.#writer.stepBack(tick_s - 1)
    this.#feed.collector.storeAll()
  }

  #announce(): void {
    const { added, removed, slabs, forgotten } = this.#writer.registry.takeChanges()
    for (const index of slabs) {
      const buffer = this.#writer.ring.slabs[index]
      if (buffer !== undefined) this.#post({ type: 'slab', index, buffer }, [])
    }
    if (added.length + removed.length + forgotten.length > 0)
      this.#post({ type: 'objects', added: added.map(placeOf), removed, forgotten }, [])
    if (this.#writer.registry.takeRefused()) this.#warn(NO_PLACES, 'there are more objects than it can store')
    else this.#wellAgain(NO_PLACES)
  }

  #postTick(absorbed: Absorbed | string): void {
    const reason = typeof absorbed === 'string' ? absorbed : undefined
    const up = reason === undefined
    if (up !== this.#up) this.#since_ms = this.#clock.wall_ms()
    this.#up = up
    const { fault: storage } = this.#storage
    const { losses } = this.#writer.ring
    const hwm_s = this.#told_s(this.#writer.ring.hwm())
    const stored_s = this.#told_s(this.#writer.hwm_s)
    const since_ms = Math.round(this.#since_ms)
    const state = { hwm_s, stored_s, up, since_ms, reason, storage, losses }
    const { message, transfer } = this.#feed.message(typeof absorbed === 'string' ? undefined : absorbed, state)
    this.#post(message, transfer)
  }

  /** Allows these messages to be sent again when their condition returns. */
  #wellAgain(...messages: readonly string[]): void {
    for (const message of messages) this.#warned.delete(message)
  }

  #warn(message: string, detail: unknown): void {
    if (this.#warned.has(message)) return
    // A lasting condition is reported once, not every second.
    if (LASTING.has(message)) this.#warned.add(message)
    this.#post({ type: 'warning', message, detail: reasonOf(detail) }, [])
  }

  /** Polls outside the rhythm. Resolves even if that fails, because an apply waits for it. */
  capture(): Promise<void> {
    return this.#serially(async () => {
      const { polled, time } = await this.#poll()
      this.#feed.absorb(polled, time)
    })
  }

  /** Returns the violated invariants. A failed check is reported as a violation as well, because the caller waits. */
  async check(): Promise<readonly string[]> {
    let problems: readonly string[] = []
    await this.#serially(async () => {
      try {
        problems = checkArchive(this.#writer.databases)
      } catch (error) {
        problems = [`the archive could not be checked: ${reasonOf(error)}`]
      }
    })
    return problems
  }

  take(plan: IpvsPlan): void {
    this.#feed.take?.(plan)
  }

  /** Announces a deliberate change of the clock: the next second is named after the new time. */
  clockStepped(): void {
    this.#clock.trust()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#ended
    await this.#queue
    await this.#writer.close()
  }
}

function placeOf(object: ArchiveObject): ObjectPlace {
  const { id, kind, name, backend, slot } = object
  return { objectId: id, kind, name, backend, slot }
}
