import type { Clock } from './clock.ts'

const FIRST_MS = 250
const LAST_MS = 30_000
/** After running for this long, the next start has the shortest pause. */
const STEADY_MS = 60_000

/** Pauses between restarts of something that ends unexpectedly: each is twice the previous one, up to a maximum. */
export class RestartPauses {
  readonly #clock: Pick<Clock, 'monotonic_ms'>
  #started_ms: number
  #pause_ms = FIRST_MS

  constructor(clock: Pick<Clock, 'monotonic_ms'>) {
    this.#clock = clock
    this.#started_ms = clock.monotonic_ms()
  }

  started(): void {
    this.#started_ms = this.#clock.monotonic_ms()
  }

  /** Returns how long to wait before the next start. */
  next_ms(): number {
    if (this.#clock.monotonic_ms() - this.#started_ms > STEADY_MS) this.#pause_ms = FIRST_MS
    const pause_ms = this.#pause_ms
    this.#pause_ms = Math.min(pause_ms * 2, LAST_MS)
    return pause_ms
  }
}
