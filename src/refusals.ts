import type { Clock } from './clock.ts'

/** Refusals of one caller that are entries, when none came for a while; then one in each interval. */
const AT_ONCE = 30
const ONE_EVERY_MS = 5_000
/** Users are few; what is more than this was deleted long ago. */
const CALLERS_MAX = 10_000

interface Caller {
  left: number
  refilled_ms: number
  unrecorded: number
}

/**
 * Who is refused has to have no right at all: nobody may push older entries out of the audit log by being refused often. What is
 * more than a bound is counted only.
 */
export class Refusals {
  readonly #clock: Pick<Clock, 'monotonic_ms'>
  readonly #callers = new Map<string, Caller>()

  constructor(clock: Pick<Clock, 'monotonic_ms'>) {
    this.#clock = clock
  }

  /** Whether the next refusal would only be counted. */
  isExhausted(key: string): boolean {
    return this.#callers.has(key) && this.#caller(key).left === 0
  }

  /** Whether this refusal is an entry; otherwise it is counted. */
  mayRecord(key: string): boolean {
    const caller = this.#caller(key)
    if (caller.left > 0) {
      caller.left--
      return true
    }
    caller.unrecorded++
    return false
  }

  /** How many were only counted since this was asked last. */
  takeUnrecorded(key: string): number {
    const caller = this.#callers.get(key)
    if (caller === undefined) return 0
    const { unrecorded } = caller
    caller.unrecorded = 0
    return unrecorded
  }

  #caller(key: string): Caller {
    const now_ms = this.#clock.monotonic_ms()
    let caller = this.#callers.get(key)
    if (caller === undefined) {
      if (this.#callers.size >= CALLERS_MAX) this.#callers.clear()
      caller = { left: AT_ONCE, refilled_ms: now_ms, unrecorded: 0 }
      this.#callers.set(key, caller)
    }
    const refill = Math.floor((now_ms - caller.refilled_ms) / ONE_EVERY_MS)
    caller.refilled_ms += refill * ONE_EVERY_MS
    caller.left = Math.min(AT_ONCE, caller.left + refill)
    return caller
  }
}
