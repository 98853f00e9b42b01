import type { Database, RangeOptions } from 'lmdb'
import { crc32 } from 'node:zlib'

export type RowKey = string | string[]

/** A row to write or to remove, with a size known before anything is written. */
export interface RowWrite {
  /** Size of the row with its key; 0 for a removal. */
  readonly bytes: number
  /** Adds the row to the LMDB transaction that is being assembled. */
  queue(): void
}

/** The bytes of a row are not those that were written. */
export class DamagedRowError extends Error {
  override readonly name = 'DamagedRowError'
  readonly table: string
  readonly key: RowKey

  constructor(table: string, key: RowKey) {
    super(`the record ${keyText(key)} of ${table} is damaged`)
    this.table = table
    this.key = key
  }
}

/** A key with its value, or marked as damaged. */
export type Surveyed<V, K> = { readonly key: K; readonly value: V } | { readonly key: K; readonly damaged: true }

/** The operations of a table that do not depend on its type. */
export interface Surveyable {
  readonly name: string
  damagedKeys(): readonly RowKey[]
  treeBytes(): number
  unchecked(): Iterable<RowWrite>
}

const LINE_FEED = 0x0a
/** A line feed, which JSON text never contains, and the checksum as eight hexadecimal digits. */
const CHECKSUM_BYTES = 9

/**
 * Rows of JSON whose damage can be detected: each ends with the CRC-32 of its key and text. LMDB has no checksums, and
 * a flipped bit in a number makes another number.
 */
export class CheckedTable<V, K extends RowKey = string> {
  readonly name: string
  readonly #rows: Database<Uint8Array, K>
  readonly #foreign: K | undefined

  /** `foreign` is the key of a row that this class does not manage. */
  constructor(name: string, rows: Database<Uint8Array, K>, foreign?: K) {
    this.name = name
    this.#rows = rows
    this.#foreign = foreign
  }

  put(key: K, value: V): RowWrite {
    const row = sealed(key, JSON.stringify(value))
    return { bytes: row.length + keyText(key).length, queue: () => ignoreRejection(this.#rows.put(key, row)) }
  }

  remove(key: K): RowWrite {
    return { bytes: 0, queue: () => ignoreRejection(this.#rows.remove(key)) }
  }

  /** Throws DamagedRowError. */
  get(key: K): V | undefined {
    const row = this.#rows.get(key)
    return row === undefined ? undefined : this.#opened(key, row)
  }

  /** Size of a stored row; 0 if there is none. */
  bytes(key: K): number {
    return this.#rows.get(key)?.length ?? 0
  }

  /** Size of the pages of the table's tree; large values are stored outside it. */
  treeBytes(): number {
    const none = { pageSize: 0, treeBranchPageCount: 0, treeLeafPageCount: 0 }
    const { pageSize, treeBranchPageCount, treeLeafPageCount } = { ...none, ...this.#rows.getStats() }
    return pageSize * (treeBranchPageCount + treeLeafPageCount)
  }

  keys(range: RangeOptions = {}): Iterable<K> {
    return this.#rows.getKeys(range)
  }

  /** Throws DamagedRowError. */
  *rows(range: RangeOptions = {}): Generator<{ readonly key: K; readonly value: V }> {
    for (const { key, value } of this.#rows.getRange(range)) yield { key, value: this.#opened(key, value) }
  }

  /** Like `rows`, but continues after damage. */
  *survey(range: RangeOptions = {}): Generator<Surveyed<V, K>> {
    for (const { key, value } of this.#rows.getRange(range)) {
      if (key === this.#foreign) continue
      const text = textOf(key, value)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `put` only
      yield text === undefined ? { key, damaged: true } : { key, value: JSON.parse(text) as V }
    }
  }

  damagedKeys(): readonly K[] {
    return [...this.survey()].flatMap((row) => ('damaged' in row ? [row.key] : []))
  }

  /** Rows of layout 1 were plain JSON. Yields the replacement of each. */
  *unchecked(): Generator<RowWrite> {
    for (const { key, value } of this.#rows.getRange()) {
      if (key === this.#foreign) continue
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by this store in its first layout
      yield this.put(key, JSON.parse(Buffer.from(value).toString()) as V)
    }
  }

  #opened(key: K, row: Uint8Array): V {
    const text = textOf(key, row)
    if (text === undefined) throw new DamagedRowError(this.name, key)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `put` only
    return JSON.parse(text) as V
  }
}

const keyText = (key: RowKey): string => (typeof key === 'string' ? key : key.join(' '))

/** Includes the key: a row under another key is as wrong as a changed one. */
const checksumOf = (key: RowKey, text: Uint8Array): string =>
  crc32(text, crc32(JSON.stringify(key)))
    .toString(16)
    .padStart(8, '0')

function sealed(key: RowKey, json: string): Buffer {
  const text = Buffer.from(json)
  return Buffer.concat([text, Buffer.from(`\n${checksumOf(key, text)}`)])
}

/** Returns undefined when these are not the bytes that were written under this key. */
function textOf(key: RowKey, row: Uint8Array): string | undefined {
  const bytes = Buffer.from(row.buffer, row.byteOffset, row.byteLength)
  const end = bytes.length - CHECKSUM_BYTES
  if (end < 1 || bytes[end] !== LINE_FEED) return undefined
  const text = bytes.subarray(0, end)
  return bytes.toString('latin1', end + 1) === checksumOf(key, text) ? text.toString() : undefined
}

/**
 * The promise of the whole batch reports a failure; those of its parts would report it again, as unhandled rejections.
 */
export function ignoreRejection(part: Promise<unknown>): void {
  part.catch(() => undefined)
}
