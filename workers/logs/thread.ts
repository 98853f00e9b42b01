import { hostname } from 'node:os'
import { setImmediate as turn } from 'node:timers/promises'
import type { LogRow } from '../../storage/logs/row.ts'
import { count, type Search, search } from '../../storage/logs/search.ts'
import { LogStore } from '../../storage/logs/store.ts'
import { Forwarder } from './forwarder.ts'
import { HaproxyLines } from './haproxy-lines.ts'
import { numberOf, rowOf, wayOf } from './line.ts'
import type { Forwarding, FromLogThread, LogLosses, LogsOptions, ToLogThread } from './messages.ts'
import { Numbering } from './numbering.ts'
import { SteadyClock } from './steady-clock.ts'
import { frameOf, type Sender } from './syslog-message.ts'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { reasonOf } from '../../src/base/reason.ts'

const TICK_MS = 250
/** Ticks between two reports of the counts. */
const COUNTS_EVERY = 4
/** Ticks between two attempts to close a segment after a failure: each attempt packs it again. */
const CLOSE_EVERY = 40
/** Rows waiting for the disk: about half a minute at 5,000 requests a second. */
const WAITING_MAX = 150_000
/** Rows sent to followers at once. */
const TOLD_MAX = 500

/** State for the next run, stored with the lines. */
interface Seen {
  readonly numbers: unknown
  /** Numbers of late lines; missing in stores of older daemons. */
  readonly holes?: unknown
  /** Lines waiting for the syslog server, which are lost if the process is killed. */
  readonly waiting: number
  /** Lines about to be sent: if the process is killed, it is not known whether they were. */
  readonly leaving: number
}

/** Stores of older daemons hold only the numbers. */
function seenOf(stored: unknown): Seen {
  const isSeen = typeof stored === 'object' && stored !== null && 'numbers' in stored
  // Sound: the journal has a checksum, and this type is what is written there.
  return isSeen ? (stored as Seen) : { numbers: stored, waiting: 0, leaving: 0 }
}

/** Reads HAProxy's lines, stores and forwards them, and answers searches. */
export class LogThread {
  readonly #store: LogStore
  readonly #numbering: Numbering
  readonly #lines: HaproxyLines | undefined
  readonly #post: (message: FromLogThread) => void
  readonly #clock: Clock
  readonly #steady: SteadyClock
  #timer: NodeJS.Timeout | undefined
  readonly #forwarder: Forwarder
  #sender: Sender = { hostname: ownName(), nameOf: () => undefined }
  #waiting: LogRow[] = []
  /** Messages that are forwarded once their lines are stored as taken, so that none is sent twice. */
  #leaving: string[] = []
  #stored: Seen
  #isTaken = false
  #losses = { lost: 0, unreadable: 0, unstored: 0 }
  #kept = 0
  #told = ''
  #ticks = 0
  #isFollowed = false
  #fault: string | undefined
  /** Runs searches one after the other. */
  #queue: Promise<void> = Promise.resolve()

  constructor(
    { directory, limits, source, forwarding }: LogsOptions,
    post: (message: FromLogThread) => void,
    clock: Clock = systemClock,
  ) {
    this.#post = post
    this.#clock = clock
    this.#steady = new SteadyClock(clock)
    this.#store = new LogStore(directory, limits)
    this.#stored = seenOf(this.#store.seen)
    this.#numbering = new Numbering(this.#stored.numbers, this.#stored.holes)
    const { waiting: unforwarded, leaving: uncertain } = this.#stored
    this.#forwarder = new Forwarder((state) => this.#post({ type: 'server', state }), { unforwarded, uncertain })
    if (forwarding !== undefined) this.#forward(forwarding)
    for (const damage of this.#store.damage) this.#warn('a part of the access log is damaged and was skipped', damage)
    this.#lines = source && new HaproxyLines(source, this.#intake())
  }

  #forward({ address, names }: Forwarding): void {
    this.#sender = { ...this.#sender, nameOf: (section, id) => names[section].get(id) }
    this.#forwarder.direct(address)
  }

  #intake() {
    return {
      line: (text: string) => this.#take(text),
      tooLong: () => void this.#losses.unreadable++,
      again: (pid: number) => this.#numbering.again(pid, this.#clock.now_ms()),
      processes: (pids: ReadonlySet<number>) => this.#numbering.keepOnly(pids),
    }
  }

  run(): void {
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
    void this.#lines?.look()
  }

  /**
   * Starts reading the current worker. Called right before a reload: a worker that is not read may be gone before the
   * next look.
   */
  async look(): Promise<void> {
    await this.#lines?.listen()
  }

  #take(text: string): void {
    const words = text.split(' ')
    const number = numberOf(words)
    // HAProxy writes other messages there as well, such as that a proxy has stopped.
    if (number === undefined || !this.#numbering.take(number, this.#clock.now_ms())) return
    this.#isTaken = true
    const row = rowOf(words)
    if (row === undefined) {
      this.#losses.unreadable++
      return
    }
    const { isStored, format } = wayOf(words[0])
    if (format !== undefined) this.#leaving.push(frameOf(row, format, this.#sender))
    if (!isStored) return
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push(row)
    else this.#losses.unstored++
  }

  #tick(): void {
    void this.#lines?.look()
    this.#losses.lost += this.#numbering.lost(this.#clock.now_ms())
    this.#pass()
    if (this.#ticks++ % COUNTS_EVERY === 0) this.#tellCounts()
  }

  #tellCounts(): void {
    const counts = { lines: this.#kept, bytes: this.#store.bytes, losses: this.losses }
    const text = JSON.stringify(counts)
    if (text === this.#told) return
    this.#told = text
    this.#post({ type: 'counts', counts })
  }

  /** Stores the lines, then forwards them. */
  #pass(): void {
    this.#keep()
    this.#forwarder.add(this.#leaving)
    this.#leaving = []
  }

  #keep(): void {
    // Expiry comes first, whatever happens to the rest: on a full disk nothing else makes room.
    this.#store.expire(this.#steady.now_ms())
    const rows = this.#waiting
    const { number, rows: open } = this.#store.open
    const first = open.length
    try {
      const [waiting, leaving] = [this.#forwarder.waiting, this.#leaving.length]
      const { seen: numbers, holes } = this.#numbering
      const seen: Seen = { numbers, holes, waiting, leaving }
      const isMoved = waiting !== this.#stored.waiting || leaving !== this.#stored.leaving
      if (this.#isTaken || rows.length > 0 || isMoved) this.#store.append(rows, seen)
      this.#stored = seen
      this.#isTaken = false
      this.#waiting = []
      this.#kept += rows.length
      if (rows.length > 0) this.#tell(rows, number, first)
      if (this.#fault !== undefined && this.#ticks % CLOSE_EVERY !== 0) return
      this.#store.tidy(this.#clock.now_ms(), seen)
      this.#fault = undefined
    } catch (error) {
      const reason = reasonOf(error)
      // A lasting failure is reported once.
      if (this.#fault === undefined) this.#warn('the access log cannot be stored', reason)
      this.#fault = reason
    }
  }

  #tell(rows: readonly LogRow[], segment: number, first: number): void {
    if (!this.#isFollowed) return
    const told = rows.slice(0, TOLD_MAX).map((row, at) => ({ segment, index: first + at, row }))
    this.#post({ type: 'rows', rows: told, more: rows.length - told.length })
  }

  #warn(message: string, detail: string): void {
    this.#post({ type: 'warning', message, detail })
  }

  get losses(): LogLosses {
    return { ...this.#losses, ...this.#forwarder.losses }
  }

  receive(message: Exclude<ToLogThread, { readonly type: 'stop' }>): void {
    if (message.type === 'follow') this.#isFollowed = message.isWanted
    else if (message.type === 'forward') this.#forward(message.forwarding)
    else if (message.type === 'look')
      void this.look().then(() => this.#post({ type: 'looked', request: message.request }))
    else this.#queue = this.#queue.then(() => this.#answer(message))
  }

  /** Searches pause between segments, so that lines are still read and stored. */
  async #answer(message: ToLogThread & { readonly type: 'search' | 'top' }): Promise<void> {
    const { request, filter, limit } = message
    try {
      if (message.type === 'search') {
        const { rows, isMore, damage } = await run(search(this.#store, filter, limit, message.after))
        this.#tellDamage(damage)
        this.#post({ type: 'page', request, answer: { rows, isMore, losses: this.losses } })
        return
      }
      const counted = await run(count(this.#store, filter, limit))
      this.#tellDamage(counted.damage)
      const { slowest, rows } = counted
      const [paths, sources, statuses] = [
        most(counted.paths, limit),
        most(counted.sources, limit),
        most(counted.statuses, limit),
      ]
      this.#post({ type: 'top', request, answer: { paths, sources, statuses, slowest, rows, losses: this.losses } })
    } catch (error) {
      this.#post({ type: 'failed', request, reason: String(error) })
    }
  }

  #tellDamage(damage: readonly string[]): void {
    if (damage.length > 0) this.#warn('a part of the access log is damaged and was skipped', damage.join('; '))
  }

  /** Stores everything that has arrived. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#lines?.close()
    await this.#queue
    this.#pass()
    await this.#forwarder.stop()
    // Messages that left in the meantime no longer count as waiting.
    this.#keep()
    this.#store.close()
  }
}

/** The host name in the characters that a syslog header allows. */
const ownName = () =>
  hostname()
    .replaceAll(/[^!-~]/g, '')
    .slice(0, 255) || '-'

async function run<T>(work: Search<T>): Promise<T> {
  for (;;) {
    const next = work.next()
    if (next.done === true) return next.value
    await turn()
  }
}

function most<K>(counts: ReadonlyMap<K, number>, limit: number): readonly (readonly [K, number])[] {
  return [...counts].toSorted(([, one], [, other]) => other - one).slice(0, limit)
}
