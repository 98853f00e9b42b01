import { randomBytes } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'

const CODE_MS = 60_000
/** Codes that wait to be redeemed: each took a signed answer. */
const WAITING_MAX = 10_000

/**
 * What browsers are given behind a login at an identity provider: each code stands for what the provider has said, and
 * is redeemed for it soon, and once. Nobody guesses it.
 */
export class LoginCodes<T> {
  readonly #clock: Clock
  readonly #most: number
  /** In the order in which they end. */
  readonly #kept = new Map<string, { readonly value: T; readonly until_ms: number }>()

  constructor(clock: Clock, most = WAITING_MAX) {
    this.#clock = clock
    this.#most = most
  }

  /** Answers the code. The oldest makes room. */
  keep(value: T): string {
    const now_ms = this.#clock.monotonic_ms()
    for (const [code, { until_ms }] of this.#kept) {
      if (until_ms > now_ms && this.#kept.size < this.#most) break
      this.#kept.delete(code)
    }
    const code = randomBytes(32).toString('base64url')
    this.#kept.set(code, { value, until_ms: now_ms + CODE_MS })
    return code
  }

  /** Nobody gets it again. */
  redeem(code: string): T {
    const found = this.#kept.get(code)
    this.#kept.delete(code)
    if (found !== undefined && found.until_ms > this.#clock.monotonic_ms()) return found.value
    throw new ApiError('INVALID_CREDENTIALS', 'The code is wrong, was used, or is older than a minute')
  }
}
