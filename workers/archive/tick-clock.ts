import type { Clock } from '../../src/base/clock.ts'

/** A backward difference larger than this is a corrected clock, not drift: the archive steps back too. */
const STEP_BACK_MS = 60_000
/** How many consecutive ticks must agree before the archive discards its future. */
const STEP_BACK_TICKS = 3
/** A clock that falls back by more than a day is more often wrong than right: it gets ten minutes to be corrected. */
const LARGE_STEP_MS = 86_400_000
const LARGE_STEP_TICKS = 600
const FORWARD_JUMP_MS = 1_000
/** One per cent of a second: how fast the archive's clock approaches the wall clock. */
const SLEW_MS = 10

export type ClockEvent = 'steady' | 'jumped-forward' | 'stepped-back'

/**
 * The archive's clock. It runs on monotonic time and only names its seconds after the wall clock, so that no second
 * occurs twice: small differences are slewed, a forward jump leaves unknown seconds, a step back of up to a minute is
 * slewed too.
 */
export class TickClock {
  readonly #clock: Clock
  #offset_ms: number
  #behindTicks = 0
  #isTrusted = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.#offset_ms = clock.now_ms() - clock.monotonic_ms()
  }

  now_ms(): number {
    return this.#clock.monotonic_ms() + this.#offset_ms
  }

  /** The wall clock itself, jumps included. */
  wall_ms(): number {
    return this.#clock.now_ms()
  }

  monotonic_s(): number {
    return this.#clock.monotonic_ms() / 1_000
  }

  /** The wall clock was set on purpose: the next `adjust` accepts a step back at once. */
  trust(): void {
    this.#isTrusted = true
  }

  /** Compares with the wall clock; called once per tick. */
  adjust(): ClockEvent {
    const isTrusted = this.#isTrusted
    this.#isTrusted = false
    const wall = this.#clock.now_ms()
    const ahead_ms = this.now_ms() - wall
    if (ahead_ms > STEP_BACK_MS) {
      this.#behindTicks++
      const ticks = ahead_ms > LARGE_STEP_MS ? LARGE_STEP_TICKS : STEP_BACK_TICKS
      if (this.#behindTicks < ticks && !isTrusted) return 'steady'
      this.#behindTicks = 0
      this.#offset_ms -= ahead_ms
      return 'stepped-back'
    }
    this.#behindTicks = 0
    if (ahead_ms < -FORWARD_JUMP_MS) {
      this.#offset_ms -= ahead_ms
      return 'jumped-forward'
    }
    this.#offset_ms -= Math.max(-SLEW_MS, Math.min(SLEW_MS, ahead_ms))
    return 'steady'
  }
}
