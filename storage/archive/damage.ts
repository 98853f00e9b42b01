/** Broken files can break in thousands of places; the first ones tell enough. */
const PLACES_MAX = 1_000

/** Places of an archive that cannot be believed. What they held is unknown; the rest is served. */
export class Damage {
  readonly #places = new Set<string>()
  #untold: string[] = []

  report(place: string): void {
    if (this.#places.has(place) || this.#places.size >= PLACES_MAX) return
    this.#places.add(place)
    this.#untold.push(place)
  }

  get places(): readonly string[] {
    return [...this.#places]
  }

  /** What was found since the last call. */
  take(): readonly string[] {
    const untold = this.#untold
    if (untold.length > 0) this.#untold = []
    return untold
  }
}

export const DAMAGED = 'parts of the archive are damaged: they are unknown, and --repair gives them up'

/** For a line of the log; undefined when there is nothing to say. */
export function damageText([first, ...more]: readonly string[]): string | undefined {
  return more.length === 0 ? first : `${first} and ${more.length} more`
}
