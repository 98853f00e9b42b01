import type { Log } from './log.ts'

/**
 * Something that is looked at again and again. What a look throws is in the log, and the next look comes all the same.
 */
export class Repeated {
  readonly #what: string
  readonly #look: () => Promise<void> | void
  readonly #every_ms: number
  readonly #log: Pick<Log, 'warn'>
  #timer: NodeJS.Timeout | undefined

  /** `what` says in the log which look failed. */
  constructor(what: string, look: () => Promise<void> | void, every_ms: number, log: Pick<Log, 'warn'>) {
    this.#what = what
    this.#look = look
    this.#every_ms = every_ms
    this.#log = log
  }

  start(): void {
    this.#timer = setInterval(() => void this.now(), this.#every_ms).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Looks at once. */
  async now(): Promise<void> {
    try {
      await this.#look()
    } catch (error) {
      this.#log.warn('a look failed; it is tried again', { look: this.#what, reason: String(error) })
    }
  }
}
