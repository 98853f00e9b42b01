/** Broken files can be damaged in thousands of places; the first ones are enough. */
const PLACES_MAX = 1_000

/** The damaged places of an archive. Their contents are unknown; the rest is served. */
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

  /** Returns the places found since the last call. */
  take(): readonly string[] {
    const untold = this.#untold
    if (untold.length > 0) this.#untold = []
    return untold
  }
}

export const DAMAGED = 'parts of the archive are damaged: their values are unknown, and --repair removes them'

/** Formats the places as a log line; undefined when there are none. */
export function damageText([first, ...more]: readonly string[]): string | undefined {
  return more.length === 0 ? first : `${first} and ${more.length} more`
}
