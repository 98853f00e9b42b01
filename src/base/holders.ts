/** Readers that are still reading something; each lets go once. */
export class Holders {
  #count = 0

  get areThere(): boolean {
    return this.#count > 0
  }

  /** `free`: what to do when nobody holds it any more. */
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
