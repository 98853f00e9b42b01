const [ANSWERS, RIGHTS] = [0, 1] as const

/**
 * Tells other threads how long their cached answers, and rights to get them, are valid: for as long as these numbers
 * are the same as when the request was answered.
 */
export class Validity {
  /** For other threads. */
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

  /** Figures, or the names of objects, are others than before. */
  endAnswers(): void {
    Atomics.add(this.#numbers, ANSWERS, 1)
  }

  /** Somebody may do less than before, or everybody is to be told something else. Called in the turn that it begins. */
  endRights(): void {
    Atomics.add(this.#numbers, RIGHTS, 1)
  }
}

/** The one of this process. */
export const validity = new Validity()
