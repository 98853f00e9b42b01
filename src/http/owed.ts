/** Counts answers that are owed to clients. */
export class Owed {
  #count = 0
  #waiting: (() => void)[] = []
  readonly #cuts = new Set<() => void>()

  /** An answer is owed until the result is called. `cut` ends it before it is complete. */
  begin(cut?: () => void): () => void {
    this.#count++
    if (cut !== undefined) this.#cuts.add(cut)
    let isOwed = true
    return () => {
      if (!isOwed) return
      isOwed = false
      if (cut !== undefined) this.#cuts.delete(cut)
      this.#count--
      if (this.#count === 0) for (const resolve of this.#waiting.splice(0)) resolve()
    }
  }

  /** An answer is owed until `sent` settles, which the result reports as well. */
  async until(sent: Promise<void>): Promise<void> {
    const over = this.begin()
    try {
      await sent
    } finally {
      over()
    }
  }

  /** Resolves when none is owed. */
  none(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#count === 0) resolve()
      else this.#waiting.push(resolve)
    })
  }

  /** Ends those that are sent while they are made. */
  cut(): void {
    for (const cut of this.#cuts) cut()
  }
}
