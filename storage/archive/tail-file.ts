import { closeSync, constants, existsSync, fdatasyncSync, fstatSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { noRoom } from '../room.ts'
import { ByteSink, ByteSource } from './bytes.ts'

/**
 * The crash tail: one record per commit, in a pair of files that are overwritten in turn. A second costs one write of
 * its own bytes and one flush, while a transaction of LMDB costs whole pages along a path in every table. Once both
 * files have their final size, only their contents change in the filesystem.
 *
 * A torn record is the last one of its file, and the bytes after it are older. Consecutive sequence numbers distinguish
 * older records from the next ones, and a hole from the end.
 */

/** The files of an archive's tail: a mark that all their records carry, and one of two pairs. */
export interface TailPlace {
  readonly mark: number
  readonly pair: number
}

/** The state of the archive when the record was written. */
export interface TailHead {
  /** Seconds before this one are committed. */
  readonly to_s: number
  /** Second at which the source was last read. */
  readonly sampled_s: number
}

export interface TailPart {
  readonly kind: 'row' | 'baseline'
  readonly second: number
  readonly block: number
  readonly bytes: Uint8Array
}

export interface TailRecord extends TailHead {
  readonly sequence: number
  readonly parts: () => Generator<TailPart>
}

/** The contents of the files. */
export interface FoundTail {
  /** In the order of writing. */
  readonly records: readonly TailRecord[]
  /** Places where records are missing. */
  readonly damaged: readonly string[]
  /** Position of the next record. */
  readonly next: TailEnd
}

export interface TailEnd {
  readonly file: number
  readonly at: number
  readonly sequence: number
  /** `to_s` of the first record in that file. */
  readonly first_s: number | undefined
}

/** The end of an empty tail. */
const BEGINNING: TailEnd = { file: 0, at: 0, sequence: 1, first_s: undefined }
export const NO_TAIL: FoundTail = { records: [], damaged: [], next: BEGINNING }

const MAGIC = 0x46_54_41_49
const HEAD_BYTES = 28
const CRC_AT = 24
/**
 * Seconds for which a file is extended ahead, so that a disk that fills up later does not matter: with few objects, all
 * that the file will hold. With many objects a single extension is limited to BYTES_AHEAD_MAX.
 */
const SECONDS_AHEAD = 260
const BYTES_AHEAD_MAX = 4 * 1_024 * 1_024
const ZEROS = new Uint8Array(64 * 1_024)
const MARK_AT = 4
const SEQUENCE_AT = 8
const TO_AT = 12
const SAMPLED_AT = 16
const LENGTH_AT = 20

function tailPath(directory: string, pair: number, file: number): string {
  return join(directory, `tail-${pair * 2 + file}`)
}

/** Assembles one record. */
export class RecordSink {
  readonly #sink = new ByteSink()
  #to_s = 0
  #from_s = 0

  begin(to_s: number): void {
    this.#sink.length = HEAD_BYTES
    this.#to_s = to_s
    this.#from_s = to_s
  }

  /** Average bytes per second in the current record. */
  get pace(): number {
    return Math.ceil(this.#sink.length / Math.max(1, this.#to_s - this.#from_s))
  }

  add(kind: TailPart['kind'], second: number, block: number, bytes: Uint8Array): void {
    this.#from_s = Math.min(this.#from_s, second)
    this.#sink.varint(block * 2 + (kind === 'row' ? 0 : 1))
    this.#sink.varint(this.#to_s - second)
    this.#sink.varint(bytes.length)
    this.#sink.append(bytes)
  }

  /** Completes the record. The bytes are valid until the next one is begun. */
  end(place: TailPlace, sequence: number, sampled_s: number): Uint8Array {
    const { length } = this.#sink
    const bytes = this.#sink.bytes.subarray(0, length)
    const view = viewOf(bytes)
    view.setUint32(0, MAGIC)
    view.setUint32(MARK_AT, place.mark)
    view.setUint32(SEQUENCE_AT, sequence)
    view.setUint32(TO_AT, this.#to_s)
    view.setUint32(SAMPLED_AT, sampled_s)
    view.setUint32(LENGTH_AT, length - HEAD_BYTES)
    view.setUint32(CRC_AT, crcOf(bytes))
    return bytes
  }
}

const viewOf = ({ buffer, byteOffset, length }: Uint8Array): DataView => new DataView(buffer, byteOffset, length)

function crcOf(record: Uint8Array): number {
  return crc32(record.subarray(HEAD_BYTES), crc32(record.subarray(0, CRC_AT)))
}

interface OpenFile {
  readonly file: number
  readonly descriptor: number
  size: number
}

/** The one writer of the tail. */
export class TailFile {
  readonly #directory: string
  readonly #place: TailPlace
  #end: TailEnd
  #open: OpenFile | undefined
  /**
   * Whether the folder was flushed: file names must survive a power cut too, including those created by an earlier run.
   */
  #isNamed = false

  /** Continues at `end`; without it, begins a new tail. */
  constructor(directory: string, place: TailPlace, end = BEGINNING) {
    this.#directory = directory
    this.#place = place
    this.#end = end
  }

  /**
   * Writes a record and waits until it is on disk. Records up to `needless_s` are no longer needed: when this file
   * begins with one, it contains all that is needed, and the other file is overwritten from now on. Throws NoRoomError
   * when the disk refuses; the next record then takes the same place.
   */
  append(record: RecordSink, sampled_s: number, to_s: number, needless_s: number): void {
    const { file, first_s, sequence } = this.#end
    const turns = first_s !== undefined && first_s <= needless_s
    const end = turns ? { ...this.#end, file: 1 - file, at: 0, first_s: undefined } : this.#end
    const bytes = record.end(this.#place, sequence, sampled_s)
    const open = this.#opened(end.file)
    const { descriptor } = open
    try {
      if (open.size < end.at + bytes.length) this.#reserve(open, end.at + bytes.length, record.pace)
      let written = 0
      while (written < bytes.length)
        written += writeSync(descriptor, bytes, written, bytes.length - written, end.at + written)
      fdatasyncSync(descriptor)
      if (!this.#isNamed) syncFolder(this.#directory)
      this.#isNamed = true
    } catch (error) {
      throw noRoom(error)
    }
    this.#end = {
      file: end.file,
      at: end.at + bytes.length,
      sequence: sequence + 1,
      first_s: end.first_s ?? to_s,
    }
  }

  #opened(file: number): OpenFile {
    if (this.#open?.file === file) return this.#open
    this.close()
    try {
      const descriptor = this.#descriptorOf(file)
      this.#open = { file, descriptor, size: fstatSync(descriptor).size }
      return this.#open
    } catch (error) {
      throw noRoom(error)
    }
  }

  #descriptorOf(file: number): number {
    const path = tailPath(this.#directory, this.#place.pair, file)
    this.#isNamed &&= existsSync(path)
    return openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  }

  /**
   * Extends the file for this record and the following ones, as far as there is room; and the other file for its next
   * turn.
   */
  #reserve(open: OpenFile, end: number, pace: number): void {
    const ahead = Math.min(BYTES_AHEAD_MAX, SECONDS_AHEAD * pace)
    open.size = extended(open.descriptor, open.size, end + ahead)
    const other = this.#descriptorOf(1 - open.file)
    try {
      extended(other, fstatSync(other).size, ahead)
    } finally {
      closeSync(other)
    }
  }

  close(): void {
    if (this.#open !== undefined) closeSync(this.#open.descriptor)
    this.#open = undefined
  }
}

/** Returns the new length of the file. On a full disk it is less than wanted, and the write of the record fails. */
function extended(descriptor: number, size: number, wanted: number): number {
  let end = size
  try {
    while (end < wanted) end += writeSync(descriptor, ZEROS, 0, Math.min(ZEROS.length, wanted - end), end)
  } catch {
    // Whatever prevents the extension also prevents the record, unless that still fits.
  }
  return end
}

function syncFolder(directory: string): void {
  const folder = openSync(directory, constants.O_RDONLY)
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** Removes the pair that is no longer in use. */
export function removeTail(directory: string, pair: number): void {
  for (const file of [0, 1]) rmSync(tailPath(directory, pair, file), { force: true })
}

interface FoundRecord extends TailRecord {
  readonly end: number
}

interface FoundFile {
  readonly records: readonly FoundRecord[]
  /** Offsets between two records at which bytes were skipped that should have been a record. */
  readonly holes: readonly number[]
}

/** Reads both files of an archive's tail. Records with another mark are ignored. */
export function readTail(directory: string, place: TailPlace): FoundTail {
  const found = [0, 1].map((file) => readFile(tailPath(directory, place.pair, file), place.mark))
  const last = (file: number) => found[file]?.records.at(-1)?.sequence ?? 0
  const newest = last(1) > last(0) ? 1 : 0
  const [older, newer] = [found[1 - newest] ?? NOTHING, found[newest] ?? NOTHING]
  const name = (file: number, at: number) => `tail-${place.pair * 2 + file} at byte ${at}`
  const damaged = newer.holes.map((at) => name(newest, at))
  // If the older file is just being overwritten, it begins with a hole that nothing needs.
  damaged.push(...older.holes.filter((at) => at > 0).map((at) => name(1 - newest, at)))
  const [first] = newer.records
  const before = older.records.at(-1)
  if (first !== undefined && before !== undefined && before.sequence + 1 !== first.sequence)
    damaged.push(name(1 - newest, before.end))
  const end = newer.records.at(-1)
  const next = { file: newest, at: end?.end ?? 0, sequence: (end?.sequence ?? 0) + 1, first_s: first?.to_s }
  return { records: [...older.records, ...newer.records], damaged: [...new Set(damaged)], next }
}

const NOTHING: FoundFile = { records: [], holes: [] }

function readFile(path: string, mark: number): FoundFile {
  if (!existsSync(path)) return NOTHING
  const bytes = readFileSync(path)
  const records: FoundRecord[] = []
  const holes: number[] = []
  let at = 0
  for (;;) {
    const after = records.at(-1)?.sequence
    const found = nextRecord(bytes, at, mark, after)
    if (found === undefined) return { records, holes }
    if (found.at !== at || (after !== undefined && found.record.sequence !== after + 1)) holes.push(at)
    records.push(found.record)
    at = found.record.end
  }
}

/** Returns the first intact record at or after `from` that is newer than `after`; older ones follow the last. */
function nextRecord(
  bytes: Buffer,
  from: number,
  mark: number,
  after: number | undefined,
): { record: FoundRecord; at: number } | undefined {
  for (let at = from; at >= 0 && at + HEAD_BYTES <= bytes.length; at = bytes.indexOf(MAGIC_BYTES, at + 1)) {
    const record = recordAt(bytes, at, mark)
    if (record !== undefined && record.sequence > (after ?? 0)) return { record, at }
  }
  return undefined
}

const MAGIC_BYTES = Buffer.from([MAGIC >>> 24, MAGIC >>> 16, MAGIC >>> 8, MAGIC])

function recordAt(bytes: Buffer, at: number, mark: number): FoundRecord | undefined {
  if (bytes.readUInt32BE(at) !== MAGIC || bytes.readUInt32BE(at + MARK_AT) !== mark) return undefined
  const end = at + HEAD_BYTES + bytes.readUInt32BE(at + LENGTH_AT)
  if (end > bytes.length) return undefined
  const record = bytes.subarray(at, end)
  if (record.readUInt32BE(CRC_AT) !== crcOf(record)) return undefined
  const to_s = record.readUInt32BE(TO_AT)
  return {
    sequence: record.readUInt32BE(SEQUENCE_AT),
    to_s,
    sampled_s: record.readUInt32BE(SAMPLED_AT),
    end,
    parts: () => partsOf(record, to_s),
  }
}

function* partsOf(record: Uint8Array, to_s: number): Generator<TailPart> {
  const source = new ByteSource(record)
  source.at = HEAD_BYTES
  while (!source.isAtEnd) {
    const place = source.varint()
    const second = to_s - source.varint()
    const length = source.varint()
    const bytes = record.subarray(source.at, source.at + length)
    source.at += length
    yield { kind: place % 2 === 0 ? 'row' : 'baseline', second, block: Math.floor(place / 2), bytes }
  }
}
