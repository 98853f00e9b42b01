import type { Clock } from '../../src/base/clock.ts'

/** How long a clock must have run evenly before anything is considered old by it. */
export const STEADY_MS = 12 * 3_600_000
/** No correction of its pace sets a clock ahead by so much from one look to the next. */
const JUMP_MS = 60_000

/**
 * The time that ages are told by. A clock that was just set ahead may be wrong, and so may any clock at a start:
 * somebody has half a day to set it right before anything is lost by it.
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

  /** undefined while it may be wrong. It has to be asked often, as that is how jumps are seen. */
  now_ms(): number | undefined {
    const [now_ms, monotonic_ms] = [this.#clock.now_ms(), this.#clock.monotonic_ms()]
    const offset_ms = now_ms - monotonic_ms
    if (offset_ms - this.#offset_ms > JUMP_MS) this.#since_ms = monotonic_ms
    this.#offset_ms = offset_ms
    return monotonic_ms - this.#since_ms < STEADY_MS ? undefined : now_ms
  }
}
