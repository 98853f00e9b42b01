/** Ring slots whose stored counters must be written again, because increments alone do not lead to their values. */
export class ChangedSlots {
  #changed = new Uint8Array(0)
  #all = true

  /** Makes room for this many slots. */
  room(slots: number): void {
    if (this.#changed.length >= slots) return
    const changed = new Uint8Array(Math.max(slots, this.#changed.length * 2, 64))
    changed.set(this.#changed)
    this.#changed = changed
  }

  add(slot: number): void {
    this.#changed[slot] = 1
  }

  addAll(): void {
    this.#all = true
  }

  has(slot: number): boolean {
    return this.#all || this.#changed[slot] === 1
  }

  clear(): void {
    this.#changed.fill(0)
    this.#all = false
  }
}
