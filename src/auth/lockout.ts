import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import { parseIp } from '../base/ip-network.ts'
import { bareName, comparedName } from './login-name.ts'
import { placeOf, siteOf } from './place.ts'

export const FAILURES_MAX = 5
export const WINDOW_MS = 15 * 60_000
/** Names with failures or attempts under way: some 30 MB. */
export const NAMES_MAX = 100_000
/** Names per address, or per IPv6 /64; and per site, which has many such networks. */
export const NAMES_PER_PLACE_MAX = 200
export const NAMES_PER_SITE_MAX = 2_000

interface Failure {
  readonly at_ms: number
  /**
   * Hash of the name as typed: a user who knows one password does not clear failures of another name that only looks
   * similar.
   */
  readonly typed: string
}
interface Attempts {
  failures: Failure[]
  running: number
  readonly places: readonly string[]
}

/**
 * Allows five failures per account and address in fifteen minutes; attempts under way count, so parallel guesses gain
 * nothing. All spellings that a server may take for one account count as one. A locked name stays locked, however many
 * other names are tried.
 */
export class Lockout {
  readonly #clock: Clock
  readonly #names_max: number
  readonly #attempts = new Map<string, Attempts>()
  /** Keys of `#attempts` by their origin. */
  readonly #byPlace = new Map<string, Set<string>>()

  constructor(clock: Clock, names_max = NAMES_MAX) {
    this.#clock = clock
    this.#names_max = names_max
  }

  /** Number of stored names. */
  get size(): number {
    return this.#attempts.size
  }

  /**
   * Refuses with RATE_LIMITED, whether or not the account exists; otherwise counts the attempt until it is settled
   * (undefined: neither success nor failure).
   */
  begin(name: string, address: string): (succeeded: boolean | undefined) => void {
    const key = hashOf(`${bareName(name)}\0${placeOf(address)}`)
    const typed = hashOf(comparedName(name))
    const attempts = this.#attempts.get(key) ?? this.#added(key, address)
    this.#forgetOld(attempts)
    if (this.#isLocked(attempts)) throw this.#refusalOf(attempts)
    attempts.running += 1
    return (succeeded) => {
      attempts.running -= 1
      if (succeeded === true) attempts.failures = attempts.failures.filter((failure) => failure.typed !== typed)
      else if (succeeded === false) attempts.failures.push({ at_ms: this.#clock.monotonic_ms(), typed })
      if (this.#isEmpty(attempts)) this.#remove(key, attempts)
    }
  }

  #added(key: string, address: string): Attempts {
    const places = parseIp(address) === undefined ? [] : [...new Set([placeOf(address), siteOf(address)])]
    for (const [index, place] of places.entries()) {
      this.#makeRoom(place, index === 0 ? NAMES_PER_PLACE_MAX : NAMES_PER_SITE_MAX)
    }
    if (this.#attempts.size >= this.#names_max) this.#forgetOne()
    const attempts: Attempts = { failures: [], running: 0, places }
    this.#attempts.set(key, attempts)
    for (const place of places) {
      const keys = this.#byPlace.get(place)
      if (keys === undefined) this.#byPlace.set(place, new Set([key]))
      else keys.add(key)
    }
    return attempts
  }

  /** Refuses further names from one place, unless some have expired. */
  #makeRoom(place: string, max: number): void {
    const keys = this.#byPlace.get(place) ?? new Set()
    if (keys.size < max) return
    let left_s = WINDOW_MS / 1000
    for (const key of keys) {
      const attempts = this.#attempts.get(key)
      if (attempts === undefined) continue
      this.#forgetOld(attempts)
      if (this.#isEmpty(attempts)) this.#remove(key, attempts)
      else left_s = Math.min(left_s, this.#left_s(attempts))
    }
    if (keys.size >= max) throw refusal('Logins with too many different names failed from this address', left_s)
  }

  /** Forgets the oldest name that is neither locked nor under way. */
  #forgetOne(): void {
    for (const [key, attempts] of this.#attempts) {
      this.#forgetOld(attempts)
      if (attempts.running > 0 || this.#isLocked(attempts)) continue
      this.#remove(key, attempts)
      return
    }
    throw refusal('Logins with too many different names failed', 60)
  }

  #remove(key: string, attempts: Attempts): void {
    if (this.#attempts.get(key) !== attempts) return
    this.#attempts.delete(key)
    for (const place of attempts.places) {
      const keys = this.#byPlace.get(place)
      keys?.delete(key)
      if (keys?.size === 0) this.#byPlace.delete(place)
    }
  }

  #forgetOld({ failures }: Attempts): void {
    const since_ms = this.#clock.monotonic_ms() - WINDOW_MS
    while ((failures[0]?.at_ms ?? Infinity) <= since_ms) failures.shift()
  }

  #isLocked = ({ failures, running }: Attempts): boolean => failures.length + running >= FAILURES_MAX
  #isEmpty = ({ failures, running }: Attempts): boolean => failures.length === 0 && running === 0

  #refusalOf(attempts: Attempts): ApiError {
    if (attempts.failures.length >= FAILURES_MAX) return refusal('Too many failed logins', this.#left_s(attempts))
    // Those under way may succeed, as when a program logs in many times at once.
    return refusal('Too many logins with this name at once', 1)
  }

  #left_s({ failures }: Attempts): number {
    const now_ms = this.#clock.monotonic_ms()
    return Math.max(1, Math.ceil(((failures[0]?.at_ms ?? now_ms) + WINDOW_MS - now_ms) / 1000))
  }
}

/** Names may be long, and up to a hundred thousand are stored. */
const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 22)

function refusal(why: string, seconds: number): ApiError {
  return new ApiError('RATE_LIMITED', `${why}; try again in ${seconds} second${seconds === 1 ? '' : 's'}`, {
    headers: { 'Retry-After': String(seconds) },
  })
}
