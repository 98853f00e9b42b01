/**
 * The minimum time for which totals have come from one process of HAProxy: another process begins at zero, with another
 * layout.
 */
export interface CountingTotals {
  /** Takes the layout of an answer; -1 when there was none. */
  met(layout: number): void
  age_ms(): number
}

export class CountingAge implements CountingTotals {
  readonly #monotonic_ms: () => number
  #began_ms: number
  #layout = -1

  constructor(monotonic_ms = () => performance.now()) {
    this.#monotonic_ms = monotonic_ms
    this.#began_ms = monotonic_ms()
  }

  met(layout: number): void {
    if (layout !== this.#layout) this.#began_ms = this.#monotonic_ms()
    this.#layout = layout
  }

  age_ms(): number {
    return this.#monotonic_ms() - this.#began_ms
  }
}
