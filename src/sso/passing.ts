import { randomBytes } from 'node:crypto'
import type { Clock } from '../base/clock.ts'

/** Values that are waited for by who holds their key, for a while and once. The key is random: nobody else finds it. */
export class Passing<T> {
  readonly #clock: Clock
  readonly #life_ms: number
  readonly #most: number
  /** In the order in which they end. */
  readonly #kept = new Map<string, { readonly value: T; readonly until_ms: number }>()

  constructor(clock: Clock, life_ms: number, most: number) {
    this.#clock = clock
    this.#life_ms = life_ms
    this.#most = most
  }

  /** Answers the key. The oldest makes room. */
  keep(value: T): string {
    const now_ms = this.#clock.monotonic_ms()
    for (const [key, { until_ms }] of this.#kept) {
      if (until_ms > now_ms && this.#kept.size < this.#most) break
      this.#kept.delete(key)
    }
    const key = randomBytes(32).toString('base64url')
    this.#kept.set(key, { value, until_ms: now_ms + this.#life_ms })
    return key
  }

  get(key: string): T | undefined {
    const found = this.#kept.get(key)
    return found === undefined || found.until_ms <= this.#clock.monotonic_ms() ? undefined : found.value
  }

  /** Nobody gets it again. */
  take(key: string): T | undefined {
    const value = this.get(key)
    this.#kept.delete(key)
    return value
  }
}
