import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { decodeNumbers, decodeTexts, encodeNumbers, encodeTexts, pack, type Texts, unpack } from './columns.ts'
import { type Column, type LogRow, type NumberColumn, NUMBERS, type TextColumn, TEXTS } from './row.ts'

/**
 * A closed segment: `FLG1`, the length of its head, the head as JSON, the CRC-32 of the head, and the columns, packed
 * one by one, so that a search reads only those that it needs.
 */
const MAGIC = 'FLG1'
const HEAD_AT = 8
const HEAD_BYTES_MAX = 4 * 1024 * 1024
/** Bytes of one column: the paths of a full segment have at most 4 KB each. */
const COLUMN_BYTES_MAX = 1024 * 1024 * 1024
/** Longer lists of distinct texts are not in the head. */
const LISTED_MAX = 256

/** Position of a column's bytes, counted from the end of the head, and their checksum. */
type Place = readonly [from: number, length: number, crc: number]

export interface SegmentHead {
  readonly rows: number
  readonly from_ms: number
  readonly to_ms: number
  readonly slowest_ms: number
  /** The distinct values of some columns, if they are few. */
  readonly frontends: readonly string[] | null
  readonly servers: readonly string[] | null
  readonly sources: readonly string[] | null
  readonly statuses: readonly number[]
  readonly places: Readonly<Record<string, Place>>
}

export function encodeSegment(rows: readonly LogRow[]): Buffer {
  const parts: Buffer[] = []
  const places: Record<string, Place> = {}
  const listed: Record<string, readonly string[] | null> = {}
  let length = 0
  const add = (name: string, bytes: Buffer) => {
    const packed = pack(bytes)
    places[name] = [length, packed.length, crc32(packed)]
    length += packed.length
    parts.push(packed)
  }
  const numbers = (column: NumberColumn) => rows.map((row) => row[column])
  for (const column of NUMBERS) add(column, encodeNumbers(numbers(column)))
  for (const column of TEXTS) {
    const values = rows.map((row) => row[column])
    const encoded = encodeTexts(values)
    add(`${column}.list`, encoded.list)
    add(column, encoded.places)
    const different = new Set(values)
    listed[column] = different.size > LISTED_MAX ? null : [...different]
  }
  const head: SegmentHead = {
    rows: rows.length,
    from_ms: least(numbers('at_ms')),
    to_ms: most(numbers('at_ms')),
    slowest_ms: most(numbers('total_ms')),
    frontends: listed['frontend'] ?? null,
    servers: listed['server'] ?? null,
    sources: listed['source'] ?? null,
    statuses: [...new Set(numbers('status'))],
    places,
  }
  const text = Buffer.from(JSON.stringify(head))
  const [size, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  size.writeUInt32LE(text.length)
  sum.writeUInt32LE(crc32(text))
  return Buffer.concat([Buffer.from(MAGIC), size, text, sum, ...parts])
}

const least = (values: readonly number[]) => values.reduce((one, other) => Math.min(one, other), Infinity)
const most = (values: readonly number[]) => values.reduce((one, other) => Math.max(one, other), -Infinity)

/** A file of a closed segment. The constructor throws when its head is damaged. */
export class Segment {
  readonly number: number
  readonly path: string
  readonly bytes: number
  readonly head: SegmentHead
  readonly #columnsAt: number

  constructor(number: number, path: string) {
    this.number = number
    this.path = path
    const file = openSync(path, 'r')
    try {
      this.bytes = fstatSync(file).size
      const start = readAt(file, 0, HEAD_AT)
      const length = start.readUInt32LE(4)
      if (start.subarray(0, 4).toString() !== MAGIC || length > HEAD_BYTES_MAX) throw new Error('it is no segment')
      const text = readAt(file, HEAD_AT, length + 4)
      if (crc32(text.subarray(0, length)) !== text.readUInt32LE(length)) throw new Error('its head is damaged')
      // Sound: the checksum proves that this code wrote it.
      this.head = JSON.parse(text.subarray(0, length).toString()) as SegmentHead
      this.#columnsAt = HEAD_AT + length + 4
    } finally {
      closeSync(file)
    }
  }

  /** Calls `work` with the columns while the file is open. Throws when a column that is read is damaged. */
  read<T>(work: (columns: Columns) => T): T {
    const file = openSync(this.path, 'r')
    try {
      return work(new Columns(file, this.#columnsAt, this.head))
    } finally {
      closeSync(file)
    }
  }
}

/** Columns of one segment, each read at first use. */
export class Columns {
  readonly #file: number
  readonly #at: number
  readonly #head: SegmentHead
  readonly #numbers = new Map<NumberColumn, Float64Array>()
  readonly #texts = new Map<TextColumn, Texts>()
  readonly #lists = new Map<TextColumn, Buffer>()

  constructor(file: number, at: number, head: SegmentHead) {
    this.#file = file
    this.#at = at
    this.#head = head
  }

  get rows(): number {
    return this.#head.rows
  }

  numbers(column: NumberColumn): Float64Array {
    const known = this.#numbers.get(column) ?? decodeNumbers(this.#bytes(column))
    this.#numbers.set(column, known)
    return known
  }

  texts(column: TextColumn): Texts {
    const known = this.#texts.get(column) ?? decodeTexts(this.#list(column), this.#bytes(column))
    this.#texts.set(column, known)
    return known
  }

  /** Whether these bytes occur in the encoded list of distinct texts: much quicker than decoding it. */
  isWritten(column: TextColumn, bytes: string): boolean {
    return this.#list(column).includes(bytes)
  }

  #list(column: TextColumn): Buffer {
    const known = this.#lists.get(column) ?? this.#bytes(`${column}.list`)
    this.#lists.set(column, known)
    return known
  }

  row(index: number): LogRow {
    const row: Partial<Record<Column, string | number>> = {}
    for (const column of NUMBERS) row[column] = this.numbers(column)[index] ?? 0
    for (const column of TEXTS) {
      const { different, places } = this.texts(column)
      row[column] = different[places[index] ?? 0] ?? ''
    }
    // Sound: every column was just set, each by its kind.
    return row as unknown as LogRow
  }

  #bytes(name: string): Buffer {
    const [from, length, crc] = this.#head.places[name] ?? [0, 0, -1]
    const packed = readAt(this.#file, this.#at + from, length)
    if (crc32(packed) !== crc) throw new Error(`its column ${name} is damaged`)
    return unpack(packed, COLUMN_BYTES_MAX)
  }
}

function readAt(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  if (readSync(file, bytes, 0, length, at) !== length) throw new Error('it is cut off')
  return bytes
}
