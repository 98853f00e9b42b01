import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const LEFT_MS = 60_000

/**
 * The file by which an administrator gives a token to a witness. It is in the state folder, which other users cannot
 * read. Arguments of a process are visible to all users, and its environment would keep the token after its use.
 */
export class TokenFile {
  readonly path: string
  /** The time when the file was found beside a witness that needs none. */
  #left_ms: number | undefined

  constructor(stateFolder: string) {
    this.path = join(stateFolder, 'join-token')
  }

  /** Returns undefined when the file does not exist or is still empty. */
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
   * Deletes a token that is not used, beside a witness that votes. It stays for a while, because an operator who has
   * just removed this witness may provide the next token before the witness knows. Returns whether it was deleted.
   */
  removeLeft(now_ms: number, isNeeded: boolean): boolean {
    if (isNeeded || this.read() === undefined) this.#left_ms = undefined
    else this.#left_ms ??= now_ms
    if (this.#left_ms === undefined || now_ms - this.#left_ms < LEFT_MS) return false
    this.remove()
    this.#left_ms = undefined
    return true
  }

  /** Deletes a token that was used, or is invalid. */
  remove(): void {
    rmSync(this.path, { force: true })
  }
}
