import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Stores the generated password of the first administrator in a file that only root can read, if the daemon's output is
 * not a terminal: logs are kept, copied and read by others. The file stays until the first login with a password.
 */
export class FirstPassword {
  readonly path: string

  constructor(stateFolder: string) {
    this.path = join(stateFolder, 'first-password')
  }

  /** On disk when it resolves; no other copy of the password remains. */
  async keep(password: string): Promise<void> {
    await this.forget()
    const file = await open(this.path, 'wx', 0o600)
    try {
      await file.writeFile(`${password}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
  }

  async forget(): Promise<void> {
    await rm(this.path, { force: true })
  }
}
