import type { Clock } from '../../src/base/clock.ts'

/** How long a clock must have run evenly before its time may make anything old. */
export const STEADY_MS = 12 * 3_600_000
/** No adjustment of its speed moves a clock ahead by this much between two looks. */
const JUMP_MS = 60_000

/**
 * The clock that decides ages. A clock that was just set ahead may be wrong, and so may any clock after boot: people
 * have half a day to correct it before anything expires.
 */
export class SteadyClock {
  readonly #clock: Clock
  #since_ms: number
  #offset_ms: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#since_ms = clock.monotonic_ms()
    this.#offset_ms = clock.now_ms() - this.#since_ms
  }

  /** Returns undefined while the time may be wrong. Must be called often, because only then does it notice jumps. */
  now_ms(): number | undefined {
    const [now_ms, monotonic_ms] = [this.#clock.now_ms(), this.#clock.monotonic_ms()]
    const offset_ms = now_ms - monotonic_ms
    if (offset_ms - this.#offset_ms > JUMP_MS) this.#since_ms = monotonic_ms
    this.#offset_ms = offset_ms
    return monotonic_ms - this.#since_ms < STEADY_MS ? undefined : now_ms
  }
}
