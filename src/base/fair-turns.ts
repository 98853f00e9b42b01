import { ApiError } from './errors.ts'

export interface FairTurnsOptions {
  /** Tasks that may run at a time. */
  readonly concurrent: number
  /** Requests of one source that may wait. */
  readonly waitingEach_max: number
  /** Requests of all sources that may wait. */
  readonly waiting_max: number
  /** Message of the refusal. */
  readonly busy: string
}

interface Waiting {
  readonly begin: () => void
  readonly refuse: (reason: ApiError) => void
}

/**
 * Runs work that is expensive and that anybody may request. Sources take turns, so that a flood from one source does
 * not delay the others; if too many wait, the newest request of the source with the most is refused.
 */
export class FairTurns {
  readonly #options: FairTurnsOptions
  /** Waiting requests by source, in the order of the sources' turns; no list is empty. */
  readonly #waiting = new Map<string, Waiting[]>()
  #waitingCount = 0
  #running = 0

  constructor(options: FairTurnsOptions) {
    this.#options = options
  }

  /** Refuses with RATE_LIMITED. */
  async run<T>(place: string, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#options.concurrent) this.#running += 1
    else await this.#turn(place)
    try {
      return await work()
    } finally {
      const next = this.#next()
      if (next === undefined) this.#running -= 1
      else next.begin()
    }
  }

  #turn(place: string): Promise<void> {
    const queue = this.#waiting.get(place) ?? []
    if (queue.length >= this.#options.waitingEach_max) throw this.#refusal()
    return new Promise((begin, refuse) => {
      queue.push({ begin, refuse })
      this.#waiting.set(place, queue)
      this.#waitingCount += 1
      if (this.#waitingCount > this.#options.waiting_max) this.#turnAway()
    })
  }

  #turnAway(): void {
    let most: readonly [string, Waiting[]] | undefined
    for (const entry of this.#waiting) if (entry[1].length >= (most?.[1].length ?? 0)) most = entry
    if (most !== undefined) this.#taken(most[0], most[1].pop(), most[1])?.refuse(this.#refusal())
  }

  /** Takes the first request of the source whose turn it is; that source is last then. */
  #next(): Waiting | undefined {
    for (const [place, queue] of this.#waiting) {
      this.#waiting.delete(place)
      this.#waiting.set(place, queue)
      return this.#taken(place, queue.shift(), queue)
    }
    return undefined
  }

  #taken(place: string, waiting: Waiting | undefined, queue: readonly Waiting[]): Waiting | undefined {
    if (queue.length === 0) this.#waiting.delete(place)
    this.#waitingCount -= 1
    return waiting
  }

  #refusal(): ApiError {
    return new ApiError('RATE_LIMITED', this.#options.busy, { headers: { 'Retry-After': '2' } })
  }
}
