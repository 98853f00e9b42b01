import { ApiError } from './errors.ts'

export interface PlacesOptions {
  /** Plural noun for the refusal. */
  readonly what: string
  readonly all_max: number
  /** Per user: less than `all_max`, so that one user cannot occupy all places. */
  readonly each_max: number
  readonly retryAfter_s: number
}

/** Limits long or expensive tasks, in total and per user. */
export class Places {
  readonly #options: PlacesOptions
  readonly #taken = new Map<string, number>()
  #open = 0

  constructor(options: PlacesOptions) {
    this.#options = options
  }

  get open(): number {
    return this.#open
  }

  /** Takes a place; returns the function that frees it. Refuses with TOO_MANY_AT_ONCE. */
  take(holder: string): () => void {
    const { all_max, each_max } = this.#options
    const own = this.#taken.get(holder) ?? 0
    if (own >= each_max)
      throw this.#refusal(`${each_max} ${this.#options.what} of yours are running, the maximum per user`)
    if (this.#open >= all_max)
      throw this.#refusal(`${all_max} ${this.#options.what} are running, the maximum for all users`)
    this.#taken.set(holder, own + 1)
    this.#open += 1
    let isTaken = true
    return () => {
      if (isTaken) this.#free(holder)
      isTaken = false
    }
  }

  #free(holder: string): void {
    const left = (this.#taken.get(holder) ?? 0) - 1
    if (left > 0) this.#taken.set(holder, left)
    else this.#taken.delete(holder)
    this.#open -= 1
  }

  #refusal(message: string): ApiError {
    const { retryAfter_s } = this.#options
    return new ApiError('TOO_MANY_AT_ONCE', `${message}: try again when one has ended`, {
      headers: { 'Retry-After': String(retryAfter_s) },
    })
  }
}

/** Runs `work` while the holder has a place. */
export function runInPlace(places: Places, holder: string, work: () => unknown): unknown {
  const free = places.take(holder)
  try {
    const result = work()
    if (result instanceof Promise) return result.finally(free)
    free()
    return result
  } catch (error) {
    free()
    throw error
  }
}
