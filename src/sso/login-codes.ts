import { randomBytes } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import { sameText } from '../base/same-text.ts'

const CODE_MS = 60_000
/** Maximum number of codes that wait to be redeemed: each needed a signed answer. */
const WAITING_MAX = 10_000

interface Kept<T> {
  readonly value: T
  readonly until_ms: number
  /** The provider that vouched for it. */
  readonly provider: object
  /** The request that began the login, if that matters; '' otherwise. */
  readonly requestId: string
}

/**
 * Codes that browsers get after a login at an identity provider: each stands for the provider's statement, and can be
 * redeemed soon and once. Codes cannot be guessed. A code for the admin page is part of an address, which others could
 * hand out: so it is valid only in the browser that began the login. A change of the provider's configuration voids it.
 */
export class LoginCodes<T> {
  readonly #clock: Clock
  readonly #most: number
  /** In the order of their expiry. */
  readonly #kept = new Map<string, Kept<T>>()

  constructor(clock: Clock, most = WAITING_MAX) {
    this.#clock = clock
    this.#most = most
  }

  /**
   * Stores a value and returns its code; drops the oldest if there are too many. With `requestId`, the code is valid
   * for that login only.
   */
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

  /**
   * Returns the value, which cannot be obtained again. `provider` is the present one, `requestId` the login that this
   * browser began.
   */
  redeem(code: string, provider: object, requestId = ''): T {
    const found = this.#kept.get(code)
    this.#kept.delete(code)
    const counts = found?.provider === provider && found.until_ms > this.#clock.monotonic_ms()
    if (counts && (found.requestId === '' || sameText(found.requestId, requestId))) return found.value
    throw new ApiError('INVALID_CREDENTIALS', 'The code is wrong, was already used, or is older than a minute')
  }
}
