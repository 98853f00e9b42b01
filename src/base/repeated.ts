import type { Log } from './log.ts'

/** On a full disk every task of every part fails, some of them each second. */
const TELL_AGAIN_MS = 60_000

interface Told {
  readonly reason: string
  readonly at_ms: number
  /** Failures for the same reason since the last report. */
  untold: number
}

/**
 * Runs a task repeatedly. A failure is logged, and the next run comes all the same. A failure that persists for one
 * reason is logged once a minute, with its count.
 */
export class Repeated {
  readonly #what: string
  readonly #look: () => Promise<void> | void
  readonly #every_ms: number
  readonly #log: Pick<Log, 'warn'>
  readonly #now_ms: () => number
  #timer: NodeJS.Timeout | undefined
  #told: Told | undefined

  /** `what` names the task in the log. */
  constructor(
    what: string,
    look: () => Promise<void> | void,
    every_ms: number,
    log: Pick<Log, 'warn'>,
    now_ms = () => performance.now(),
  ) {
    this.#what = what
    this.#look = look
    this.#every_ms = every_ms
    this.#log = log
    this.#now_ms = now_ms
  }

  start(): void {
    this.#timer = setInterval(() => void this.now(), this.#every_ms).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Runs the task at once. */
  async now(): Promise<void> {
    try {
      await this.#look()
      this.#told = undefined
    } catch (error) {
      this.#tell(String(error))
    }
  }

  #tell(reason: string): void {
    const [now_ms, look] = [this.#now_ms(), this.#what]
    const before = this.#told?.reason === reason ? this.#told : undefined
    if (before !== undefined && now_ms - before.at_ms < TELL_AGAIN_MS) {
      before.untold += 1
      return
    }
    const again = before === undefined ? {} : { before: before.untold }
    this.#log.warn('a periodic check failed and will be retried', { look, reason, ...again })
    this.#told = { reason, at_ms: now_ms, untold: 0 }
  }
}
