import { closeSync, constants, existsSync, fstatSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** Zeros written at once when the file is extended. */
const PIECE = new Uint8Array(1_024 * 1_024)

/** Bytes that LMDB maps of its lock file for its default number of readers. */
const LOCK_BYTES = 8_192

/** There is no room for another transaction. Nothing was written. */
export class NoRoomError extends Error {
  override readonly name = 'NoRoomError'
}

/** LMDB met a failing disk. Another process must reopen its environment. */
export class StoreFailedError extends Error {
  override readonly name = 'StoreFailedError'

  constructor(reason: string, what: keyof typeof FAILED) {
    const [came, then] = FAILED[what]
    super(`${came}, because ${reason}: the daemon restarts as soon as the disk works; ${then}`)
  }
}

/** Outcomes by operation: when LMDB fails, only the next start knows whether its transaction was stored. */
const FAILED = {
  doing: ['It is unknown whether this was stored', 'check then, and repeat the request if it was not'],
  writing: ['Nothing was changed', 'repeat the request then'],
  reading: ['This cannot be read', 'repeat the request then'],
} as const

/**
 * Creates LMDB's lock file before LMDB does: mapped without blocks behind it, as on a full disk, its first use would
 * end the process with a signal.
 */
export function makeLockFile(directory: string): void {
  const path = join(directory, 'lock.mdb')
  if (existsSync(path)) return
  try {
    writeFileSync(path, new Uint8Array(LOCK_BYTES), { mode: 0o600 })
  } catch (error) {
    rmSync(path, { force: true })
    throw new NoRoomError(`${path} cannot be created: ${refusalOf(error)}`)
  }
}

/** Converts the error of a refused write. */
export const noRoom = (error: unknown): NoRoomError => new NoRoomError(refusalOf(error), { cause: error })

/**
 * Room at the end of LMDB's data file, allocated before LMDB needs it. A transaction that meets a full disk half-way
 * leaves LMDB's environment unusable (seen: a heap that is damaged after a few such transactions), so a full disk must
 * be met here, where it is an ordinary error. The room consists of zeros after the last page that LMDB has ever used;
 * LMDB reuses the pages it frees, so the room is used up only while the archive grows.
 */
export class FileRoom {
  readonly #path: string
  readonly #usedBytes: () => number
  /** Why the last attempt to extend the file failed. */
  #refusal: string | undefined

  /** `usedBytes` returns how much of the file LMDB uses. */
  constructor(directory: string, usedBytes: () => number) {
    this.#path = join(directory, 'data.mdb')
    this.#usedBytes = usedBytes
  }

  /**
   * Makes sure of room for a transaction that takes at most `need` bytes and leaves `reserved` ones for others. Throws
   * NoRoomError when there is none. The file is opened in any case, so that LMDB never meets a disk that became
   * read-only or was shut down.
   */
  ensure(need: number, reserved = 0): void {
    const enough = need + reserved
    const used = this.#usedBytes()
    const file = this.#open()
    try {
      const size = Math.max(fstatSync(file).size, used)
      this.#refusal = undefined
      if (size < used + 2 * enough && this.#extendTo(file, used + 2 * enough, size) < used + enough)
        throw new NoRoomError(this.#refusal ?? 'the file cannot grow')
    } finally {
      closeSync(file)
    }
  }

  /** Returns the new size of the file: less than wanted after a refusal. */
  #extendTo(file: number, wanted: number, from: number): number {
    let size = from
    while (size < wanted && this.#refusal === undefined) size += this.#extend(file, size)
    return size
  }

  #open(): number {
    try {
      return openSync(this.#path, constants.O_WRONLY)
    } catch (error) {
      throw new NoRoomError(refusalOf(error))
    }
  }

  /** Returns how many bytes were added; a short write is followed by a refusal. */
  #extend(file: number, size: number): number {
    try {
      return writeSync(file, PIECE, 0, PIECE.length, size)
    } catch (error) {
      this.#refusal = refusalOf(error)
      return 0
    }
  }

  /** Why the next transactions may find no room; `undefined` while there is enough. */
  get refusal(): string | undefined {
    return this.#refusal
  }
}

function refusalOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code ?? 'ERROR'
  return DISK_REFUSALS[code] ?? `its file cannot be written (${code})`
}

/** What refused a write, by the code of its error. */
export const DISK_REFUSALS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EFBIG: 'its file has reached the maximum size',
  EROFS: 'the disk is read-only',
  EIO: 'the disk fails (EIO)',
  EMFILE: 'the process has too many open files',
  ENFILE: 'the system has too many open files',
}
