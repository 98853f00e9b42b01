import { type FileHandle, open } from 'node:fs/promises'

/** Zeros allocated after the last line, so that an entry fits even on a full disk. */
const AHEAD_BYTES = 256 * 1_024
/** Below this, more zeros are added. */
const LOW_BYTES = 192 * 1_024

/**
 * The open segment: lines, followed by room that is already allocated. Lines are split at line feeds, so the zeros form
 * none.
 */
export class SegmentFile {
  readonly #file: FileHandle
  /** Bytes of whole lines. */
  #bytes: number
  #size: number
  /** Whether the room contains parts of a failed write, whose whole lines would count as written. */
  #isDirty = false

  private constructor(file: FileHandle, bytes: number, size: number) {
    this.#file = file
    this.#bytes = bytes
    this.#size = size
  }

  /** Opens an existing segment with this many bytes of whole lines. */
  static async open(path: string, bytes: number): Promise<SegmentFile> {
    const file = await open(path, 'r+')
    const { size } = await file.stat()
    return new SegmentFile(file, bytes, size)
  }

  static async create(path: string): Promise<SegmentFile> {
    const file = await open(path, 'w', 0o600)
    await file.sync()
    return new SegmentFile(file, 0, 0)
  }

  /** Bytes of entries that can be written whatever happens to the disk. */
  get ahead(): number {
    return this.#size - this.#bytes
  }

  /**
   * Durable when it resolves. If it rejects, nothing of the write remains in the file, or it is wiped before the next
   * write.
   */
  async append(bytes: Uint8Array): Promise<void> {
    if (this.#isDirty) await this.#wipe()
    try {
      await writeAll(this.#file, bytes, this.#bytes)
      await this.#file.datasync()
    } catch (error) {
      this.#isDirty = true
      await this.#wipe().catch(() => undefined)
      throw error
    }
    this.#bytes += bytes.length
    this.#size = Math.max(this.#size, this.#bytes)
  }

  /**
   * Zeroes everything after the last line. The file is not truncated, because the disk may not give the space again.
   */
  async #wipe(): Promise<void> {
    this.#size = (await this.#file.stat()).size
    await writeAll(this.#file, new Uint8Array(this.ahead), this.#bytes)
    await this.#file.datasync()
    this.#isDirty = false
  }

  /** Adds room when it is low. Returns whether there is enough now. */
  async extend(): Promise<boolean> {
    if (this.ahead >= LOW_BYTES) return true
    try {
      await writeAll(this.#file, new Uint8Array(AHEAD_BYTES - this.ahead), this.#size)
      this.#size = this.#bytes + AHEAD_BYTES
      await this.#file.datasync()
      return true
    } catch {
      // A part may have been added, and can be used.
      this.#size = Math.max(this.#size, (await this.#file.stat()).size)
      return false
    }
  }

  /** Closes the segment for good and cuts off its room. */
  async end(): Promise<void> {
    await this.#file.truncate(this.#bytes)
    await this.#file.sync()
    await this.#file.close()
  }

  /** Closes the segment so that it can be opened again. */
  close(): Promise<void> {
    return this.#file.close()
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let written = 0
  while (written < bytes.length) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, position + written)
    written += bytesWritten
  }
}
