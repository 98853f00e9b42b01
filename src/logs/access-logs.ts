import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { fits } from '../../storage/logs/filter.ts'
import type { PlacedRow } from '../../storage/logs/row.ts'
import type { ServerState } from '../../workers/logs/forwarder.ts'
import type {
  FromLogThread,
  LogCounts,
  LogsOptions,
  LogsPage,
  LogsTop,
  ToLogThread,
} from '../../workers/logs/messages.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Repeated } from '../base/repeated.ts'
import { RestartPauses } from '../base/restart-pauses.ts'
import type { AccessLogsReader, LogPage, LogQuery, LogTop } from '../context/access-logs.ts'
import type { Stream } from '../context/rendered.ts'
import { isLogged } from '../model/access-log.ts'
import type { ConfigView } from '../model/sections.ts'
import { forwardingOf } from './forwarding.ts'
import { cursorOf, cursorText, filterOf, shownLine } from './shown.ts'

const LOOK_EVERY_MS = 1_000
/** Time for the thread to write its lines and end. */
const STOP_MS = 10_000
const ENTRY = new URL('../../workers/logs.ts', import.meta.url)
/** Maximum wait of an apply for `capture`. */
const CAPTURE_MS = 5_000
const FOLDER = 'access-logs'

export interface AccessLogsParts {
  readonly stateFolder: string
  readonly running: ConfigView
  /** Changes when the running configuration changes. */
  readonly runningVersion: () => number
  readonly limits: LogsOptions['limits']
  readonly source: LogsOptions['source']
  /** Called when the syslog server becomes reachable or unreachable. */
  readonly onServer: (state: ServerState) => void
  readonly clock: Clock
  readonly log: Log
}

/** undefined answers a `look`. */
type Answer = LogsPage | LogsTop | undefined
type Question = ToLogThread & { readonly type: 'search' | 'top' | 'look' }

/** The main thread's side of the access logs of this node. */
export class AccessLogs implements AccessLogsReader {
  readonly #parts: AccessLogsParts
  readonly #looks: Repeated
  readonly #pauses: RestartPauses
  readonly #asked = new Map<number, { resolve: (answer: Answer) => void; reject: (error: Error) => void }>()
  readonly #followers = new Set<(rows: readonly PlacedRow[], more: number) => void>()
  #request = 0
  #worker: Worker | undefined
  /** Monotonic time before which a thread that ended is not restarted. */
  #startsFrom_ms = -Infinity
  #failure = 'it ended'
  #counts: LogCounts | undefined
  #isClosed = false
  #known: { readonly version: number; readonly isWanted: boolean } | undefined

  constructor(parts: AccessLogsParts) {
    this.#parts = parts
    this.#pauses = new RestartPauses(parts.clock)
    this.#looks = new Repeated('access logs', () => this.#look(), LOOK_EVERY_MS, parts.log)
  }

  /** Counts of the lines so far; undefined before the thread has reported any. */
  get counts(): LogCounts | undefined {
    return this.#counts
  }

  start(): void {
    void this.#looks.now()
    this.#looks.start()
  }

  /** Starts the thread if lines are wanted, also after it has ended. */
  #look(): void {
    const { running, runningVersion, source } = this.#parts
    const version = runningVersion()
    if (this.#known?.version !== version) {
      const isWanted = [...running.list('l7Frontends')].some(({ enabled, logs }) => enabled && isLogged(logs))
      this.#known = { version, isWanted }
      if (this.#worker !== undefined) this.#post({ type: 'forward', forwarding: forwardingOf(running) })
    }
    if (this.#known.isWanted && source !== undefined) this.#thread()
  }

  /** Returns the thread, started if necessary; undefined during the pause after it ended. */
  #thread(): Worker | undefined {
    if (this.#worker !== undefined) return this.#worker
    if (this.#parts.clock.monotonic_ms() < this.#startsFrom_ms) return undefined
    const { stateFolder, limits, source, running } = this.#parts
    const directory = join(stateFolder, FOLDER)
    const workerData: LogsOptions = { directory, limits, source, forwarding: forwardingOf(running) }
    const worker = new Worker(ENTRY, { workerData, name: 'logs' })
    this.#worker = worker
    this.#failure = 'it ended'
    this.#pauses.started()
    worker.on('message', (message: FromLogThread) => this.#receive(message))
    worker.on('error', (error: unknown) => (this.#failure = String(error)))
    worker.on('exit', () => this.#exited())
    if (this.#followers.size > 0) this.#post({ type: 'follow', isWanted: true })
    return worker
  }

  #exited(): void {
    const { clock, log } = this.#parts
    this.#worker = undefined
    const reason = this.#failure
    for (const { reject } of this.#asked.values()) reject(new Error(`the log thread failed: ${reason}`))
    this.#asked.clear()
    if (this.#isClosed) return
    const pause_ms = this.#pauses.next_ms()
    this.#startsFrom_ms = clock.monotonic_ms() + pause_ms
    log.error('the log thread ended and is being restarted', { reason, pause_ms })
  }

  #receive(message: FromLogThread): void {
    if (message.type === 'warning') return this.#parts.log.warn(message.message, { detail: message.detail })
    if (message.type === 'counts') {
      this.#counts = message.counts
      return
    }
    if (message.type === 'server') return this.#tellServer(message.state)
    if (message.type === 'rows') {
      for (const follower of this.#followers) follower(message.rows, message.more)
      return
    }
    const asked = this.#asked.get(message.request)
    this.#asked.delete(message.request)
    if (message.type === 'failed') asked?.reject(new Error(`a search of access logs failed: ${message.reason}`))
    else asked?.resolve(message.type === 'looked' ? undefined : message.answer)
  }

  #tellServer(state: ServerState): void {
    const { log, onServer } = this.#parts
    if (state.isReached) log.info('the syslog server accepts lines again', {})
    else log.warn('the syslog server is unreachable; lines are waiting', { reason: state.reason })
    onServer(state)
  }

  #post(message: ToLogThread): void {
    this.#worker?.postMessage(message)
  }

  async #ask<A extends Answer>(question: (request: number) => Question): Promise<A> {
    const request = ++this.#request
    const thread = this.#thread()
    if (thread === undefined) throw new Error(`the log thread is being restarted: ${this.#failure}`)
    return new Promise<A>((resolve, reject) => {
      // Sound: the thread answers each question with the matching type.
      this.#asked.set(request, { resolve: (answer) => resolve(answer as A), reject })
      thread.postMessage(question(request))
    })
  }

  /** Call this right before a reload: it makes the thread read every line of the HAProxy worker that ends. */
  async capture(): Promise<void> {
    this.#look()
    if (this.#worker === undefined || this.#isClosed) return
    const heard = this.#ask((request) => ({ type: 'look', request })).catch(() => undefined)
    await Promise.race([heard, sleep(CAPTURE_MS, undefined, { ref: false })])
  }

  async search({ limit, after, ...query }: Parameters<AccessLogsReader['search']>[0]): Promise<LogPage> {
    const cursor = after === undefined ? undefined : cursorOf(after)
    const filter = filterOf(query, this.#parts.running)
    const found = await this.#ask<LogsPage>((request) => ({ type: 'search', request, filter, limit, after: cursor }))
    const last = found.rows.at(-1)
    return {
      lines: found.rows.map((row) => shownLine(row, this.#parts.running)),
      next: found.isMore && last !== undefined ? cursorText(last) : undefined,
      losses: found.losses,
    }
  }

  async top({ limit, ...query }: Parameters<AccessLogsReader['top']>[0]): Promise<LogTop> {
    const filter = filterOf(query, this.#parts.running)
    const found = await this.#ask<LogsTop>((request) => ({ type: 'top', request, filter, limit }))
    return {
      lines: found.rows,
      paths: found.paths.map(([path, count]) => ({ path, count })),
      sources: found.sources.map(([source, count]) => ({ source, count })),
      status: found.statuses.map(([status, count]) => ({ status, count })),
      slowest: found.slowest.map((row) => shownLine(row, this.#parts.running)),
    }
  }

  stream(query: LogQuery): Stream {
    const filter = filterOf(query, this.#parts.running)
    return (sink) => {
      const follower = (rows: readonly PlacedRow[], more: number) => {
        for (const placed of rows) {
          if (!fits(placed.row, filter)) continue
          const line = shownLine(placed, this.#parts.running)
          sink.write(`id: ${line.id}\nevent: line\ndata: ${JSON.stringify(line)}\n\n`)
        }
        if (more > 0) sink.write(`event: skipped\ndata: ${JSON.stringify({ lines: more })}\n\n`)
      }
      sink.write('retry: 2000\n\n')
      this.#followers.add(follower)
      if (this.#followers.size === 1) this.#post({ type: 'follow', isWanted: true })
      return () => {
        this.#followers.delete(follower)
        if (this.#followers.size === 0) this.#post({ type: 'follow', isWanted: false })
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#looks.stop()
    const worker = this.#worker
    if (worker === undefined) return
    const ended = new Promise<void>((resolve) => {
      worker.once('exit', () => resolve())
    })
    this.#post({ type: 'stop' })
    const late = setTimeout(() => void worker.terminate(), STOP_MS)
    await ended
    clearTimeout(late)
  }
}
