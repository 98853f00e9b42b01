import type { Clock } from '../base/clock.ts'

const LOOK_EVERY_MS = 1_000
/** A tick comes every second; a thread that is silent for this long is blocked, most likely by its disk. */
const SILENCE_MS = 5_000

/** Detects silence, once for each. */
export class Silence {
  readonly #clock: Clock
  readonly #broken: (since_ms: number) => void
  readonly #timer: NodeJS.Timeout
  #heard_ms: number | undefined
  #isTold = false

  /** `broken` is called with the wall-clock time of the last sign of life. */
  constructor(clock: Clock, broken: (since_ms: number) => void) {
    this.#clock = clock
    this.#broken = broken
    this.#timer = setInterval(() => this.look(), LOOK_EVERY_MS).unref()
  }

  /** Ends the silence, if there was one. */
  heard(): void {
    this.#heard_ms = this.#clock.monotonic_ms()
    this.#isTold = false
  }

  look(): void {
    if (this.#heard_ms === undefined || this.#isTold) return
    const passed_ms = this.#clock.monotonic_ms() - this.#heard_ms
    if (passed_ms < SILENCE_MS) return
    this.#isTold = true
    this.#broken(Math.round(this.#clock.now_ms() - passed_ms))
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
