import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const RESERVE = new Uint8Array(1_024 * 1_024)
/** Delay between attempts on a full disk, instead of one per entry. */
const TRY_EVERY_MS = 250

/** Space for the entries of requests that free room on a full disk. */
export class Reserve {
  readonly #path: string
  #triedAt_ms = Number.NEGATIVE_INFINITY
  #isThere: boolean

  constructor(folder: string) {
    this.#path = join(folder, 'reserve')
    this.#isThere = existsSync(this.#path)
  }

  get isThere(): boolean {
    return this.#isThere
  }

  /** Recreates the reserve, unless it exists or there is still no space. */
  ensure(): void {
    const now_ms = performance.now()
    if (this.#isThere || now_ms - this.#triedAt_ms < TRY_EVERY_MS) return
    this.#triedAt_ms = now_ms
    try {
      const file = openSync(`${this.#path}.new`, 'w', 0o600)
      try {
        for (let written = 0; written < RESERVE.length;) written += writeSync(file, RESERVE, written)
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
      renameSync(`${this.#path}.new`, this.#path)
      this.#isThere = true
    } catch {
      // A partial file would only take up needed space.
      rmSync(`${this.#path}.new`, { force: true })
    }
  }

  /** Frees the space; returns whether there was any. A disk that became read-only has none. */
  release(): boolean {
    const wasThere = this.#isThere
    try {
      rmSync(this.#path, { force: true })
    } catch {
      return false
    }
    this.#isThere = false
    return wasThere
  }
}
