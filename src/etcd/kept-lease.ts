import { type Clock, systemClock } from '../base/clock.ts'
import { defer } from '../base/deferred.ts'
import { EtcdError } from './errors.ts'

export interface KeptLeaseParts {
  readonly id: string
  readonly ttl_s: number
  /** Answers the seconds that the lease has now, 0 when it is gone. */
  readonly keepAlive: (timeout_ms: number) => Promise<number>
  readonly clock?: Clock
}

/** Of its time, after which it is kept again, and how long that may take. */
const SHARE = 1 / 3
/** The same, after it could not be kept. */
const SOON = 1 / 20

/** A lease that is kept alive, three times within its time, by this process. */
export class KeptLease {
  readonly id: string
  /**
   * Resolves when the lease is gone, or when it was not kept for its whole time, so that it may be gone. Rejects with
   * what is no trouble of etcd's. Stays open when the keeping is closed before.
   */
  readonly lost: Promise<void>
  readonly #parts: KeptLeaseParts
  readonly #clock: Clock
  readonly #ended = defer()
  #validUntil_ms: number
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(parts: KeptLeaseParts) {
    this.#parts = parts
    this.#clock = parts.clock ?? systemClock
    this.id = parts.id
    this.lost = this.#ended.promise
    this.#validUntil_ms = this.#clock.monotonic_ms() + parts.ttl_s * 1000
    this.#after(SHARE)
  }

  /** Stops keeping it. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #after(share: number): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => void this.#keep().catch(this.#ended.reject), this.#parts.ttl_s * 1000 * share)
  }

  async #keep(): Promise<void> {
    const asked_ms = this.#clock.monotonic_ms()
    try {
      const patience_ms = Math.min(this.#parts.ttl_s * 1000 * SHARE, this.#validUntil_ms - asked_ms)
      const left_s = await this.#parts.keepAlive(Math.max(1, patience_ms))
      if (left_s === 0) return this.#end()
      // Counted from the question: etcd may have begun the time at any moment since.
      this.#validUntil_ms = asked_ms + left_s * 1000
      this.#after(SHARE)
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error
      if (this.#clock.monotonic_ms() >= this.#validUntil_ms) return this.#end()
      this.#after(SOON)
    }
  }

  #end(): void {
    if (!this.#isClosed) this.#ended.resolve()
    this.close()
  }
}
