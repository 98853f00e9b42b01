import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * How a person hands a token to a witness: as a file in the state folder, which nobody else can read. Arguments of a
 * process are there for everybody, and what stands in its environment stays there when the token is used up.
 */
export class TokenFile {
  readonly path: string

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

  /** It was used, or is good for nothing. */
  remove(): void {
    rmSync(this.path, { force: true })
  }
}
