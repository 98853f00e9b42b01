const [ANSWERS, RIGHTS] = [0, 1] as const

/**
 * Tells other threads how long their cached answers, and callers' rights to them, are valid: while these numbers are
 * the same as when the request was answered.
 */
export class Validity {
  /** Passed to other threads. */
  readonly shared: SharedArrayBuffer
  readonly #numbers: Int32Array

  constructor(shared = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)) {
    this.shared = shared
    this.#numbers = new Int32Array(shared)
  }

  get answers(): number {
    return Atomics.load(this.#numbers, ANSWERS)
  }
  get rights(): number {
    return Atomics.load(this.#numbers, RIGHTS)
  }

  /** Invalidates answers after a change of figures or of names. */
  endAnswers(): void {
    Atomics.add(this.#numbers, ANSWERS, 1)
  }

  /**
   * Invalidates rights after somebody has lost one, or if everybody must get another answer. Called in the turn in
   * which that takes effect.
   */
  endRights(): void {
    Atomics.add(this.#numbers, RIGHTS, 1)
  }
}

/** The instance of this process. */
export const validity = new Validity()
