import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const RESERVE = new Uint8Array(1_024 * 1_024)
/** A full disk is tried again after this time, not with each entry. */
const TRY_EVERY_MS = 250

/** Space for the entries of requests that make room on a full disk. */
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

  /** Makes it again, unless it is there or there is still no space. */
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
      // Half of it would only take the space that is needed.
      rmSync(`${this.#path}.new`, { force: true })
    }
  }

  /** Frees its space; answers whether there was any. On a disk that became read-only there is none. */
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
