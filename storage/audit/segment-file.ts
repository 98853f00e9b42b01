import { type FileHandle, open } from 'node:fs/promises'

/** Zeros after the last line: an entry never meets a full disk, whatever else fills it. */
const AHEAD_BYTES = 256 * 1_024
/** From here on more is added. */
const LOW_BYTES = 192 * 1_024

/**
 * The open segment: lines, and behind them room that is on the disk already. Lines are split at line feeds, so the
 * zeros are none.
 */
export class SegmentFile {
  readonly #file: FileHandle
  /** Bytes of whole lines. */
  #bytes: number
  #size: number
  /** Behind the last line stands what is no room: a part of an attempt, whose whole lines would pass for written. */
  #isDirty = false

  private constructor(file: FileHandle, bytes: number, size: number) {
    this.#file = file
    this.#bytes = bytes
    this.#size = size
  }

  /** Opens an existing one, with this many bytes of whole lines. */
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

  /** Bytes of entries that can be written whatever becomes of the disk. */
  get ahead(): number {
    return this.#size - this.#bytes
  }

  /** On the disk when it resolves; nothing of it is there when it rejects, or before anything else is written. */
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

  /** Makes all that is behind the last line room. It is not cut off, as the disk may not give it again. */
  async #wipe(): Promise<void> {
    this.#size = (await this.#file.stat()).size
    await writeAll(this.#file, new Uint8Array(this.ahead), this.#bytes)
    await this.#file.datasync()
    this.#isDirty = false
  }

  /** Adds to the room when it is low. Answers whether there is enough now. */
  async extend(): Promise<boolean> {
    if (this.ahead >= LOW_BYTES) return true
    try {
      await writeAll(this.#file, new Uint8Array(AHEAD_BYTES - this.ahead), this.#size)
      this.#size = this.#bytes + AHEAD_BYTES
      await this.#file.datasync()
      return true
    } catch {
      // A part of it may have been added; it is there to be used.
      this.#size = Math.max(this.#size, (await this.#file.stat()).size)
      return false
    }
  }

  /** Without its room: nothing is written to it any more. */
  async end(): Promise<void> {
    await this.#file.truncate(this.#bytes)
    await this.#file.sync()
    await this.#file.close()
  }

  /** To be opened again. */
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
