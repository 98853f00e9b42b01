const [ANSWERS, RIGHTS] = [0, 1] as const

/**
 * Until when other threads may use what they keep of answers, and of who may ask for them: for as long as these numbers
 * are what they were when it was answered.
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

/** Of the whole process. */
export const validity = new Validity()
