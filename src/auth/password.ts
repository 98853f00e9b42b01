import { randomBytes } from 'node:crypto'
import { ApiError } from '../errors.ts'

/** Hashes run beside the event loop in libuv's threads; more than two at once would starve everything else there. */
const CONCURRENT_MAX = 2
/** Of one place: whoever floods waits for nobody but himself. */
const WAITING_EACH_MAX = 32
const WAITING_MAX = 1024

/** argon2id with the library's defaults, OWASP's first choice: 19 MiB, 2 passes, 1 lane. */
export class Passwords {
  #running = 0
  /** By place, in the order in which places have their turn. */
  readonly #waiting = new Map<string, (() => void)[]>()
  #waitingCount = 0
  #decoy: Promise<string> | undefined

  /** PHC string. */
  hash(password: string): Promise<string> {
    return this.#inTurn('', async () => (await import('@node-rs/argon2')).hash(password))
  }

  /**
   * Takes the same time when there is no hash to compare with: an unknown user cannot be told by the clock. `place` is where
   * the attempt comes from.
   */
  async verify(hash: string | undefined, password: string, place = ''): Promise<boolean> {
    const decoy = await this.prepare()
    return this.#inTurn(place, async () => {
      const { verify } = await import('@node-rs/argon2')
      const matches = await verify(hash ?? decoy, password)
      return matches && hash !== undefined
    })
  }

  /** Loads the library and makes the decoy, so that the first login is not slower than the others. */
  prepare(): Promise<string> {
    this.#decoy ??= this.hash(randomBytes(24).toString('base64url'))
    return this.#decoy
  }

  /** Places take turns, so that a flood from one keeps nobody waiting who comes from another. */
  async #inTurn<T>(place: string, work: () => Promise<T>): Promise<T> {
    if (this.#running < CONCURRENT_MAX) this.#running += 1
    else await this.#queued(place)
    try {
      return await work()
    } finally {
      const next = this.#next()
      if (next === undefined) this.#running -= 1
      else next()
    }
  }

  #queued(place: string): Promise<void> {
    const queue = this.#waiting.get(place) ?? []
    if (queue.length >= WAITING_EACH_MAX || this.#waitingCount >= WAITING_MAX) {
      throw new ApiError('RATE_LIMITED', 'Too many logins at once; try again in a few seconds', {
        headers: { 'Retry-After': '2' },
      })
    }
    this.#waiting.set(place, queue)
    this.#waitingCount += 1
    return new Promise((resolve) => queue.push(resolve))
  }

  /** The first of the place whose turn it is; that place is last then. */
  #next(): (() => void) | undefined {
    for (const [place, queue] of this.#waiting) {
      const first = queue.shift()
      this.#waiting.delete(place)
      if (queue.length > 0) this.#waiting.set(place, queue)
      if (first === undefined) continue
      this.#waitingCount -= 1
      return first
    }
    return undefined
  }
}
