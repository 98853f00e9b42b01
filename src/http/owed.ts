/** Counts answers that are owed to clients. */
export class Owed {
  #count = 0
  #waiting: (() => void)[] = []

  /** One is owed until `sent` settles, which the result tells as well. */
  async until(sent: Promise<void>): Promise<void> {
    this.#count++
    try {
      await sent
    } finally {
      this.#count--
      if (this.#count === 0) for (const resolve of this.#waiting.splice(0)) resolve()
    }
  }

  /** Resolves when none is owed. */
  none(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#count === 0) resolve()
      else this.#waiting.push(resolve)
    })
  }
}
