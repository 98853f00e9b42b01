import type { Clock } from '../clock.ts'
import { ApiError } from '../errors.ts'
import { placeOf } from './place.ts'

export const FAILURES_MAX = 5
export const WINDOW_MS = 15 * 60_000
const ENTRIES_MAX = 100_000

interface Attempts {
  readonly failures_ms: number[]
  running: number
}

/** Five failures per account and address in fifteen minutes; attempts under way count, so parallel guesses gain nothing. */
export class Lockout {
  readonly #clock: Clock
  readonly #attempts = new Map<string, Attempts>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Refuses with RATE_LIMITED, whether or not the account exists; otherwise counts the attempt until it is settled (undefined: neither). */
  begin(email: string, address: string): (succeeded: boolean | undefined) => void {
    const key = `${email.toLowerCase()}\0${placeOf(address)}`
    const now_ms = this.#clock.monotonic_ms()
    const attempts = this.#entry(key)
    while ((attempts.failures_ms[0] ?? Infinity) <= now_ms - WINDOW_MS) attempts.failures_ms.shift()
    if (attempts.failures_ms.length + attempts.running >= FAILURES_MAX) {
      const oldest_ms = attempts.failures_ms[0] ?? now_ms
      const seconds = Math.max(1, Math.ceil((oldest_ms + WINDOW_MS - now_ms) / 1000))
      throw new ApiError('RATE_LIMITED', `Too many failed logins; try again in ${seconds} seconds`, {
        headers: { 'Retry-After': String(seconds) },
      })
    }
    attempts.running += 1
    return (succeeded) => {
      attempts.running -= 1
      if (succeeded === true) attempts.failures_ms.length = 0
      else if (succeeded === false) attempts.failures_ms.push(this.#clock.monotonic_ms())
      if (attempts.failures_ms.length === 0 && attempts.running === 0) this.#attempts.delete(key)
    }
  }

  #entry(key: string): Attempts {
    const known = this.#attempts.get(key)
    if (known !== undefined) return known
    if (this.#attempts.size >= ENTRIES_MAX) this.#forgetOldest()
    const attempts = { failures_ms: [], running: 0 }
    this.#attempts.set(key, attempts)
    return attempts
  }

  #forgetOldest(): void {
    for (const [key, attempts] of this.#attempts) {
      if (attempts.running > 0) continue
      this.#attempts.delete(key)
      return
    }
  }
}
