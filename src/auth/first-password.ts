import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The made-up password of the first administrator as a file that only root can read, where a terminal is not what the
 * daemon writes to: a log is kept, copied and read by others. It is there until somebody logs in.
 */
export class FirstPassword {
  readonly path: string

  constructor(stateFolder: string) {
    this.path = join(stateFolder, 'first-password')
  }

  /** On disk when it resolves: afterwards nothing else knows the password. */
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
