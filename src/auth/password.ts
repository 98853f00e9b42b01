import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { FairTurns } from '../base/fair-turns.ts'

/**
 * Hashes that may run at a time in libuv's threads. One processor is left for the event loop, and more than two would
 * starve all other work of those threads.
 */
export const CONCURRENT = Math.min(2, Math.max(1, availableParallelism() - 1))
const WAITING_EACH_MAX = 32
const WAITING_MAX = 1024

/** argon2id with the library's defaults, OWASP's first choice: 19 MiB, 2 passes, 1 lane. */
export class Passwords {
  readonly #turns = new FairTurns({
    concurrent: CONCURRENT,
    waitingEach_max: WAITING_EACH_MAX,
    waiting_max: WAITING_MAX,
    busy: 'Too many logins at once; try again in a few seconds',
  })
  #decoy: Promise<string> | undefined

  /** PHC string. */
  hash(password: string): Promise<string> {
    return this.#turns.run('', async () => (await import('@node-rs/argon2')).hash(password))
  }

  /**
   * Takes the same time without a hash, so that timing does not reveal unknown users. `place` is the origin of the
   * attempt.
   */
  async verify(hash: string | undefined, password: string, place = ''): Promise<boolean> {
    const decoy = await this.prepare()
    return this.#turns.run(place, async () => {
      const { verify } = await import('@node-rs/argon2')
      // An unreadable hash, as from a damaged backup, matches no password.
      const matches = await verify(hash ?? decoy, password).catch(() => false)
      return matches && hash !== undefined
    })
  }

  /** Loads the library and creates the decoy, so that the first login is not slower than others. */
  prepare(): Promise<string> {
    this.#decoy ??= this.hash(randomBytes(24).toString('base64url'))
    return this.#decoy
  }
}
