import { randomBytes } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import { sameText } from '../base/same-text.ts'

const CODE_MS = 60_000
/** Codes that wait to be redeemed: each took a signed answer. */
const WAITING_MAX = 10_000

interface Kept<T> {
  readonly value: T
  readonly until_ms: number
  /** The provider that vouched for it. */
  readonly provider: object
  /** Of the request with which the login began, where that counts; '' otherwise. */
  readonly requestId: string
}

/**
 * What browsers are given after a login at an identity provider: each code stands for what the provider has said, and
 * is redeemed for it soon, and once. Nobody guesses it. A code that goes to the admin page stands in an address, which
 * somebody else could hand out: it is good in the browser that began the login only. With its provider, as that was set
 * up, it is gone.
 */
export class LoginCodes<T> {
  readonly #clock: Clock
  readonly #most: number
  /** In the order in which they end. */
  readonly #kept = new Map<string, Kept<T>>()

  constructor(clock: Clock, most = WAITING_MAX) {
    this.#clock = clock
    this.#most = most
  }

  /** Answers the code. The oldest makes room. With `requestId` it is good for that login only. */
  keep(value: T, provider: object, requestId = ''): string {
    const now_ms = this.#clock.monotonic_ms()
    for (const [code, { until_ms }] of this.#kept) {
      if (until_ms > now_ms && this.#kept.size < this.#most) break
      this.#kept.delete(code)
    }
    const code = randomBytes(32).toString('base64url')
    this.#kept.set(code, { value, until_ms: now_ms + CODE_MS, provider, requestId })
    return code
  }

  /** Nobody gets it again. `provider`: that of now; `requestId`: which login this browser began. */
  redeem(code: string, provider: object, requestId = ''): T {
    const found = this.#kept.get(code)
    this.#kept.delete(code)
    const counts = found?.provider === provider && found.until_ms > this.#clock.monotonic_ms()
    if (counts && (found.requestId === '' || sameText(found.requestId, requestId))) return found.value
    throw new ApiError('INVALID_CREDENTIALS', 'The code is wrong, was used, or is older than a minute')
  }
}
