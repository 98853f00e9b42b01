import { Worker } from 'node:worker_threads'
import type { ArchivesOptions, LayerMessage, ToArchiveThread } from '../../workers/archive/messages.ts'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'

/** Pauses between restarts of the archive thread: doubled from the first to the last. */
const THREAD_RESTART_FIRST_MS = 250
const THREAD_RESTART_LAST_MS = 30_000
/** A poll takes at most 0.9 s and a commit far less; a thread that has not ended by then is stuck. */
const THREAD_STOP_MS = 10_000
/** A thread that lived so long starts again at the shortest pause. */
const THREAD_STEADY_MS = 60_000

const ENTRY = new URL('../../workers/archive.ts', import.meta.url)

export interface ThreadEvents {
  /** A message of the running thread. After a crash the next one begins with `ready` again. */
  message(message: LayerMessage): void
  /** The thread ended by itself; another one is on its way. */
  lost(reason: string): void
}

/** Keeps the archive thread running: starts it again when it fails, with growing pauses. */
export class ArchiveThreadKeeper {
  readonly #options: ArchivesOptions
  readonly #events: ThreadEvents
  readonly #log: Log
  readonly #clock: Clock
  #worker: Worker
  #started_ms: number
  #pause_ms = THREAD_RESTART_FIRST_MS
  #timer: NodeJS.Timeout | undefined
  #stopping = false
  #failure = 'it ended'

  constructor(options: ArchivesOptions, events: ThreadEvents, log: Log, clock: Clock) {
    this.#options = options
    this.#events = events
    this.#log = log
    this.#clock = clock
    this.#started_ms = clock.monotonic_ms()
    this.#worker = this.#start()
  }

  #start(): Worker {
    const worker = new Worker(ENTRY, { workerData: this.#options, name: 'archive' })
    this.#started_ms = this.#clock.monotonic_ms()
    worker.on('message', (message: LayerMessage) => this.#events.message(message))
    worker.on('error', (error) => {
      this.#failure = error instanceof Error ? error.message : String(error)
    })
    worker.on('exit', () => this.#exited())
    return worker
  }

  #exited(): void {
    if (this.#stopping) return
    if (this.#clock.monotonic_ms() - this.#started_ms > THREAD_STEADY_MS) this.#pause_ms = THREAD_RESTART_FIRST_MS
    this.#log.error('the archive thread ended; starting it again', { reason: this.#failure, pause_ms: this.#pause_ms })
    this.#events.lost(this.#failure)
    this.#timer = setTimeout(() => {
      this.#worker = this.#start()
    }, this.#pause_ms)
    this.#pause_ms = Math.min(this.#pause_ms * 2, THREAD_RESTART_LAST_MS)
  }

  /** False when there is no thread at this moment: nobody will answer. */
  post(message: ToArchiveThread): boolean {
    if (this.#worker.threadId < 0) return false
    this.#worker.postMessage(message)
    return true
  }

  /** For tests: ends the thread as a crash would. */
  async crash(): Promise<void> {
    await this.#worker.terminate()
  }

  async stop(): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#timer)
    const ended = new Promise<void>((resolve) => {
      this.#worker.once('exit', () => resolve())
    })
    if (this.#worker.threadId < 0) return
    this.#worker.postMessage({ type: 'stop' } satisfies ToArchiveThread)
    const timer = setTimeout(() => {
      this.#log.error('the archive thread did not end in time and is ended by force')
      void this.#worker.terminate()
    }, THREAD_STOP_MS)
    await ended
    clearTimeout(timer)
  }
}
