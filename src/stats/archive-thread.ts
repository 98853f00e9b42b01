import { setTimeout as sleep } from 'node:timers/promises'
import type {
  FromArchiveThread,
  HaproxyTick,
  IpvsSource,
  IpvsTick,
  StatsSource,
  ToArchiveThread,
} from '../../workers/archive/messages.ts'
import type { Clock } from '../base/clock.ts'
import { defer } from '../base/deferred.ts'
import type { Log } from '../base/log.ts'
import { RestartPauses } from '../base/restart-pauses.ts'
import type { ArchiveSide } from './archive-side.ts'
import { Silence } from './silence.ts'
import { type ArchiveWorker, type StartArchives, startArchives } from './start-archives.ts'
import { reasonOf } from '../base/reason.ts'

/** A poll takes at most 0.9 s and a commit far less; a thread that has not ended after this time is stuck. */
const THREAD_STOP_MS = 10_000
/** Limit for the first message: opening an archive of 20,000 objects takes well under this. */
const OPEN_TIMEOUT_MS = 60_000
/** A poll takes 0.9 s at most; a thread that is blocked by its disk may take for ever. */
const CAPTURE_MS = 5_000

/** The receivers of the thread's reports about each archive that it writes. */
export interface ArchiveSides {
  readonly layer7: ArchiveSide<StatsSource, HaproxyTick>
  readonly layer4?: ArchiveSide<IpvsSource, IpvsTick> | undefined
}

/** Keeps the archive thread running: restarts it when it fails, with growing pauses, and exchanges messages with it. */
export class ArchiveThreadKeeper {
  readonly #sides: ArchiveSides
  readonly #all: readonly (ArchiveSides['layer7'] | NonNullable<ArchiveSides['layer4']>)[]
  readonly #log: Log
  readonly #clock: Clock
  readonly #startThread: StartArchives
  readonly #silence: Silence
  readonly #open = defer()
  readonly #requests = new Map<number, (problems: readonly string[]) => void>()
  readonly #pauses: RestartPauses
  #request = 0
  #worker: ArchiveWorker
  #timer: NodeJS.Timeout | undefined
  #stopping = false
  #failure = 'it ended'

  /** Starts the thread and resolves when every archive is open. Rejects when one of them cannot be opened. */
  static async open(
    sides: ArchiveSides,
    log: Log,
    clock: Clock,
    start: StartArchives = startArchives,
  ): Promise<ArchiveThreadKeeper> {
    const keeper = new ArchiveThreadKeeper(sides, log, clock, start)
    const late = new Error('the archive did not open in time')
    const timer = setTimeout(() => keeper.#open.reject(late), OPEN_TIMEOUT_MS)
    try {
      await keeper.#open.promise
      return keeper
    } catch (error) {
      await keeper.close()
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  private constructor(sides: ArchiveSides, log: Log, clock: Clock, start: StartArchives) {
    const { layer7, layer4 } = sides
    this.#sides = sides
    this.#all = layer4 === undefined ? [layer7] : [layer7, layer4]
    this.#log = log
    this.#clock = clock
    this.#startThread = start
    this.#silence = new Silence(clock, (since_ms) => this.#fellSilent(since_ms))
    this.#pauses = new RestartPauses(clock)
    this.#worker = this.#start()
  }

  #start(): ArchiveWorker {
    const { layer7, layer4 } = this.#sides
    const worker = this.#startThread({ layer7: layer7.archive, layer4: layer4?.archive })
    this.#pauses.started()
    worker.on('message', (message: FromArchiveThread) => this.#receive(message))
    worker.on('error', (error: unknown) => {
      this.#failure = reasonOf(error)
    })
    worker.on('exit', () => this.#exited())
    return worker
  }

  #receive(message: FromArchiveThread): void {
    if (message.type === 'done') {
      this.#requests.get(message.request)?.(message.problems)
      this.#requests.delete(message.request)
      return
    }
    const { layer7, layer4 } = this.#sides
    if (message.type === 'layer4') layer4?.receive(message.message)
    else {
      // Layer 4 has no ticks while none of its services is configured.
      if (message.message.type === 'tick') this.#silence.heard()
      layer7.receive(message.message)
    }
    if (message.message.type === 'ready' && this.#all.every((side) => side.isOpen)) this.#open.resolve()
    for (const side of this.#all) {
      const news = side.news()
      if (news !== undefined) this.#post(news)
    }
  }

  #fellSilent(since_ms: number): void {
    const reason = 'the statistics thread is blocked, perhaps by its disk'
    this.#log.warn(reason)
    for (const side of this.#all) side.interrupt(reason, since_ms)
  }

  #exited(): void {
    if (this.#stopping) return
    const [reason, pause_ms] = [this.#failure, this.#pauses.next_ms()]
    this.#log.error('the archive thread ended and is being restarted', { reason, pause_ms })
    this.#open.reject(new Error(`the archive could not be opened: ${reason}`))
    const text = `the statistics thread failed: ${reason}`
    for (const side of this.#all) side.lose(text, this.#clock.now_ms())
    this.#endRequests(text)
    this.#timer = setTimeout(() => {
      this.#worker = this.#start()
    }, pause_ms)
  }

  /** Returns false when there is no thread at this moment: no answer will come. */
  #post(message: ToArchiveThread): boolean {
    if (this.#worker.threadId < 0) return false
    this.#worker.postMessage(message)
    return true
  }

  #ask(type: 'capture' | 'check'): Promise<readonly string[]> {
    const request = ++this.#request
    return new Promise((resolve) => {
      if (this.#post({ type, request })) this.#requests.set(request, resolve)
      else resolve(['the statistics thread is being restarted'])
    })
  }

  #endRequests(problem: string): void {
    for (const answer of this.#requests.values()) answer([problem])
    this.#requests.clear()
  }

  /**
   * Polls HAProxy at once. Call it right before a reload, so that the ending worker's counts since the last poll are
   * kept. An apply waits for this, so it always ends: figures are not worth an outage.
   */
  async capture(): Promise<void> {
    const patience = new AbortController()
    const late = sleep(CAPTURE_MS, undefined, { signal: patience.signal, ref: false }).catch(() => undefined)
    await Promise.race([this.#ask('capture'), late])
    patience.abort()
  }

  /** Verifies every invariant of every archive; returns `[]` when all hold. */
  check(): Promise<readonly string[]> {
    return this.#ask('check')
  }

  /** The clock of the machine was set on purpose: the archives follow at their next second, however large the step. */
  clockStepped(): void {
    this.#post({ type: 'clockStepped' })
  }

  /** Commits and closes the archives. */
  async close(): Promise<void> {
    this.#silence.stop()
    await this.#stop()
    this.#endRequests('the statistics were closed')
    for (const side of this.#all) await side.close()
  }

  async #stop(): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#timer)
    const ended = new Promise<void>((resolve) => {
      this.#worker.once('exit', () => resolve())
    })
    if (!this.#post({ type: 'stop' })) return
    const timer = setTimeout(() => {
      this.#log.error('the archive thread did not end in time and is terminated')
      void this.#worker.terminate()
    }, THREAD_STOP_MS)
    await ended
    clearTimeout(timer)
  }
}
