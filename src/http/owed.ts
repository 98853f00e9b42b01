/** Counts answers that are owed to clients. */
export class Owed {
  #count = 0
  #waiting: (() => void)[] = []
  readonly #cuts = new Set<() => void>()

  /** Counts an answer as owed until the returned function is called. `cut` ends it before it is complete. */
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

  /** Counts an answer as owed until `sent` settles, and settles likewise. */
  async until(sent: Promise<void>): Promise<void> {
    const over = this.begin()
    try {
      await sent
    } finally {
      over()
    }
  }

  /** Resolves when no answer is owed. */
  none(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#count === 0) resolve()
      else this.#waiting.push(resolve)
    })
  }

  /** Cuts the answers that are generated while they are sent. */
  cut(): void {
    for (const cut of this.#cuts) cut()
  }
}
