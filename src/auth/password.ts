import { randomBytes } from 'node:crypto'
import { ApiError } from '../errors.ts'

/** Hashes run beside the event loop in libuv's threads; more than two at once would starve everything else there. */
const CONCURRENT_MAX = 2
const WAITING_MAX = 64

/** argon2id with the library's defaults, OWASP's first choice: 19 MiB, 2 passes, 1 lane. */
export class Passwords {
  #running = 0
  readonly #waiting: (() => void)[] = []
  #decoy: Promise<string> | undefined

  /** PHC string. */
  hash(password: string): Promise<string> {
    return this.#inTurn(async () => (await import('@node-rs/argon2')).hash(password))
  }

  /** Takes the same time when there is no hash to compare with: an unknown user cannot be told by the clock. */
  async verify(hash: string | undefined, password: string): Promise<boolean> {
    const decoy = await this.prepare()
    return this.#inTurn(async () => {
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

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= CONCURRENT_MAX) {
      if (this.#waiting.length >= WAITING_MAX) {
        throw new ApiError('RATE_LIMITED', 'Too many logins at once; try again in a few seconds', {
          headers: { 'Retry-After': '2' },
        })
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    } else {
      this.#running += 1
    }
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running -= 1
      else next()
    }
  }
}
