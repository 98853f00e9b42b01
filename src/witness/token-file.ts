import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const LEFT_MS = 60_000

/**
 * How a person hands a token to a witness: as a file in the state folder, which nobody else can read. Arguments of a
 * process are there for everybody, and what stands in its environment stays there when the token is used up.
 */
export class TokenFile {
  readonly path: string
  /** When it was found beside a witness that needs none. */
  #left_ms: number | undefined

  constructor(stateFolder: string) {
    this.path = join(stateFolder, 'join-token')
  }

  /** Undefined where there is none, or nothing in it yet. */
  read(): string | undefined {
    try {
      const text = readFileSync(this.path, 'utf8').trim()
      return text === '' ? undefined : text
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  /**
   * Beside a witness that votes, nobody uses it. It stays for a while, because an operator who has just removed this
   * witness may hand it the next one before it knows. Answers whether it was deleted.
   */
  removeLeft(now_ms: number, isNeeded: boolean): boolean {
    if (isNeeded || this.read() === undefined) this.#left_ms = undefined
    else this.#left_ms ??= now_ms
    if (this.#left_ms === undefined || now_ms - this.#left_ms < LEFT_MS) return false
    this.remove()
    this.#left_ms = undefined
    return true
  }

  /** It was used, or is good for nothing. */
  remove(): void {
    rmSync(this.path, { force: true })
  }
}
