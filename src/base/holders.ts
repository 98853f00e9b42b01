/** Counts readers that are still reading; each releases once. */
export class Holders {
  #count = 0

  get areThere(): boolean {
    return this.#count > 0
  }

  /** `free` is called when the last holder has released. */
  hold(free: () => void = () => undefined): () => void {
    this.#count += 1
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#count -= 1
      if (this.#count === 0) free()
    }
  }
}
