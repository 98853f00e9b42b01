import { closeSync, constants, fdatasync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { pack, unpack } from './columns.ts'
import type { LogRow } from './row.ts'

/**
 * The segment that is being written: one block per write, preceded by its length and checksum, so that a torn end is
 * recognised.
 */
export interface Block {
  readonly rows: readonly LogRow[]
  /** State with which the reader of the lines continues after them. */
  readonly seen: unknown
}

const HEAD_BYTES = 8
const BLOCK_BYTES_MAX = 256 * 1024 * 1024

export class Journal {
  readonly blocks: readonly Block[]
  /** Bytes at the end that form no complete block, and are cut off. */
  readonly torn_bytes: number
  readonly #file: number
  #length: number

  constructor(path: string) {
    this.#file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
    try {
      const bytes = readFileSync(path)
      const { blocks, length } = blocksOf(bytes)
      this.blocks = blocks
      this.#length = length
      this.torn_bytes = bytes.length - length
      if (this.torn_bytes > 0) ftruncateSync(this.#file, length)
    } catch (error) {
      closeSync(this.#file)
      throw error
    }
  }

  get length(): number {
    return this.#length
  }

  /** Throws if the block is not written; then nothing of it is in the file, or the next append overwrites it. */
  append(block: Block): void {
    const packed = pack(Buffer.from(JSON.stringify(block)))
    const head = Buffer.alloc(HEAD_BYTES)
    head.writeUInt32LE(packed.length)
    head.writeUInt32LE(crc32(packed), 4)
    const bytes = Buffer.concat([head, packed])
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(this.#file, bytes, at, bytes.length - at, this.#length + at)
    } catch (error) {
      this.#cutOff()
      throw error
    }
    this.#length += bytes.length
  }

  #cutOff(): void {
    try {
      ftruncateSync(this.#file, this.#length)
    } catch {
      // A failing disk may refuse to truncate as well.
    }
  }

  /** Flushes the appended blocks to disk. */
  sync(done: (error: Error | null) => void): void {
    fdatasync(this.#file, done)
  }

  close(): void {
    closeSync(this.#file)
  }
}

function blocksOf(bytes: Buffer): { readonly blocks: readonly Block[]; readonly length: number } {
  const blocks: Block[] = []
  let at = 0
  while (at + HEAD_BYTES <= bytes.length) {
    const length = bytes.readUInt32LE(at)
    const packed = bytes.subarray(at + HEAD_BYTES, at + HEAD_BYTES + length)
    if (packed.length !== length || crc32(packed) !== bytes.readUInt32LE(at + 4)) break
    // Sound: the checksum proves that this code wrote it.
    blocks.push(JSON.parse(unpack(packed, BLOCK_BYTES_MAX).toString()) as Block)
    at += HEAD_BYTES + length
  }
  return { blocks, length: at }
}
