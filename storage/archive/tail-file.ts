import { closeSync, constants, existsSync, fdatasyncSync, fstatSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { noRoom } from '../room.ts'
import { ByteSink, ByteSource } from './bytes.ts'

/**
 * The crash tail: what each commit brought, one record after the other, in a pair of files that are written over in
 * turns. A second costs one write of its own bytes and one flush, where a transaction of LMDB costs whole pages along
 * a path in every table. Once both files have their size, nothing of the filesystem changes but their contents.
 *
 * A record that is torn is the last one of its file, and what stands behind it is older. Numbers follow each other, so
 * that older records are told from what comes next, and a hole from an end.
 */

/** Which files belong to an archive: a mark that all their records have, and one of two pairs. */
export interface TailPlace {
  readonly mark: number
  readonly pair: number
}

/** What a record says of the archive when it was written. */
export interface TailHead {
  /** Seconds before this one are committed. */
  readonly to_s: number
  /** The source was last read then. */
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

/** What is in the files. */
export interface FoundTail {
  /** In the order in which they were written. */
  readonly records: readonly TailRecord[]
  /** Where records are missing that were there. */
  readonly damaged: readonly string[]
  /** Where the next record belongs. */
  readonly next: TailEnd
}

export interface TailEnd {
  readonly file: number
  readonly at: number
  readonly sequence: number
  /** `to_s` of the first record of that file. */
  readonly first_s: number | undefined
}

/** The end of a new tail. */
const BEGINNING: TailEnd = { file: 0, at: 0, sequence: 1, first_s: undefined }
export const NO_TAIL: FoundTail = { records: [], damaged: [], next: BEGINNING }

const MAGIC = 0x46_54_41_49
const HEAD_BYTES = 28
const CRC_AT = 24
/**
 * Seconds for which a file gets room at once, so that a disk that is full later does not matter: as many as it holds of
 * few objects. Of many it gets no more than so many bytes in one second.
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

/** Puts one record together. */
export class RecordSink {
  readonly #sink = new ByteSink()
  #to_s = 0
  #from_s = 0

  begin(to_s: number): void {
    this.#sink.length = HEAD_BYTES
    this.#to_s = to_s
    this.#from_s = to_s
  }

  /** Bytes of one second, for all that is known. */
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

  /** The whole record; good until the next one is begun. */
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
  /** Names of files must outlive a power cut as well, also those that an earlier run made last. */
  #isNamed = false

  /** Goes on where `end` is; a tail that is new begins. */
  constructor(directory: string, place: TailPlace, end = BEGINNING) {
    this.#directory = directory
    this.#place = place
    this.#end = end
  }

  /**
   * Writes a record and waits until it is on the disk. Records up to `needless_s` are not needed any more: when this
   * file begins with one, all that is needed stands in it, and the other file is written over from now on. Throws
   * NoRoomError when the disk refuses; the next record takes the same place then.
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

  /** Room for this record and for those that follow, as far as there is any; also where the turn after this one is. */
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

/** How long the file is then: less than wanted on a disk that has no more, where the record itself finds out. */
function extended(descriptor: number, size: number, wanted: number): number {
  let end = size
  try {
    while (end < wanted) end += writeSync(descriptor, ZEROS, 0, Math.min(ZEROS.length, wanted - end), end)
  } catch {
    // Whatever keeps it from growing keeps the record from being written, unless it still fits.
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

/** Removes the pair that is not in use any more. */
export function removeTail(directory: string, pair: number): void {
  for (const file of [0, 1]) rmSync(tailPath(directory, pair, file), { force: true })
}

interface FoundRecord extends TailRecord {
  readonly end: number
}

interface FoundFile {
  readonly records: readonly FoundRecord[]
  /** Where bytes were passed over that should have been a record, between two that are. */
  readonly holes: readonly number[]
}

/** Reads both files of an archive's tail. What belongs to no archive of this mark is as if it were not there. */
export function readTail(directory: string, place: TailPlace): FoundTail {
  const found = [0, 1].map((file) => readFile(tailPath(directory, place.pair, file), place.mark))
  const last = (file: number) => found[file]?.records.at(-1)?.sequence ?? 0
  const newest = last(1) > last(0) ? 1 : 0
  const [older, newer] = [found[1 - newest] ?? NOTHING, found[newest] ?? NOTHING]
  const name = (file: number, at: number) => `tail-${place.pair * 2 + file} at byte ${at}`
  const damaged = newer.holes.map((at) => name(newest, at))
  // The older file may be one that is just being written over: it begins with a hole then, and nothing needs that.
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

/** The first whole record from `from` on that is later than `after`; what follows the last one is older. */
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
