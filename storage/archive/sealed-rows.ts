import { crc32 } from 'node:zlib'
import type { RangeOptions } from 'lmdb'
import type { BinaryDatabase } from '../env.ts'
import type { Damage } from './damage.ts'
import { keyFirst, keySecond } from './layout.ts'

const SEAL_BYTES = 4
/** Replaces a damaged row that is given up: its contents are unknown, unlike those of a row that was never written. */
const LOST = new Uint8Array()

export interface Row {
  readonly key: Uint8Array
  readonly value: Uint8Array
}

/**
 * Rows whose damage can be detected: each ends with the CRC-32 of its key and value, because LMDB has no checksums. A
 * row with a wrong seal is reported, and treated as missing.
 */
export class SealedRows {
  readonly #rows: BinaryDatabase
  readonly #name: string
  readonly #damage: Damage
  readonly #isUnsealed: (key: Uint8Array, value: Uint8Array) => boolean

  /** `isUnsealed` recognises rows of a version without seals. */
  constructor(
    rows: BinaryDatabase,
    name: string,
    damage: Damage,
    isUnsealed: (key: Uint8Array, value: Uint8Array) => boolean = () => false,
  ) {
    this.#rows = rows
    this.#name = name
    this.#damage = damage
    this.#isUnsealed = isUnsealed
  }

  putSync(key: Uint8Array, value: Uint8Array, options: { readonly append?: boolean } = {}): void {
    this.#rows.putSync(key, sealed(key, value), options)
  }

  get(key: Uint8Array): Uint8Array | undefined {
    const row = this.#rows.get(key)
    return row === undefined ? undefined : this.#opened(key, row)
  }

  /** Returns LMDB's shared buffer: valid until the next call. */
  getFast(key: Uint8Array): Uint8Array | undefined {
    const row = this.#rows.getBinaryFast(key)
    if (row === undefined) return undefined
    return this.#opened(key, row.subarray(0, lastSize(this.#rows)))
  }

  *getRange(range: RangeOptions = {}): Generator<Row> {
    for (const { key, value } of this.#rows.getRange(range)) {
      const opened = this.#opened(key, value)
      if (opened !== undefined) yield { key, value: opened }
    }
  }

  /** LMDB's counts of pages and entries. */
  getStats(): object {
    return this.#rows.getStats()
  }

  getKeys(range: RangeOptions = {}): Iterable<Uint8Array> {
    return this.#rows.getKeys(range)
  }
  removeSync(key: Uint8Array): void {
    this.#rows.removeSync(key)
  }
  clearSync(): void {
    this.#rows.clearSync()
  }

  /** Inside a transaction: seals the rows of a version without seals. */
  seal(): void {
    const unsealed = [...this.#rows.getRange()].map(({ key, value }) => ({ key, value: Uint8Array.from(value) }))
    for (const { key, value } of unsealed) if (this.#isUnsealed(key, value)) this.putSync(key, value)
  }

  /** Inside a transaction: removes damaged rows, or replaces them by a mark. Returns where they were. */
  mend(how: 'remove' | 'mark'): readonly string[] {
    const damaged = [...this.#rows.getRange()].filter(({ key, value }) => this.#bodyOf(key, value) === undefined)
    for (const { key } of damaged) {
      if (how === 'mark') this.putSync(key, LOST)
      else this.#rows.removeSync(key)
    }
    return damaged.map(({ key }) => this.#placeOf(key))
  }

  #opened(key: Uint8Array, row: Uint8Array): Uint8Array | undefined {
    const body = this.#bodyOf(key, row)
    if (body === undefined) this.#damage.report(this.#placeOf(key))
    return body
  }

  #bodyOf(key: Uint8Array, row: Uint8Array): Uint8Array | undefined {
    if (this.#isUnsealed(key, row)) return row
    const end = row.length - SEAL_BYTES
    if (end < 0) return undefined
    const body = row.subarray(0, end)
    return crc32(body, crc32(key)) === uint32(row, end) ? body : undefined
  }

  #placeOf(key: Uint8Array): string {
    return `${this.#name} ${keyFirst(key)}/${keySecond(key)}`
  }
}

function sealed(key: Uint8Array, value: Uint8Array): Uint8Array {
  const row = new Uint8Array(value.length + SEAL_BYTES)
  row.set(value)
  const seal = crc32(value, crc32(key))
  for (let at = 0; at < SEAL_BYTES; at++) row[value.length + at] = seal >>> (8 * (SEAL_BYTES - 1 - at))
  return row
}

function uint32(bytes: Uint8Array, at: number): number {
  let value = 0
  for (let i = 0; i < SEAL_BYTES; i++) value = value * 256 + (bytes[at + i] ?? 0)
  return value
}

/** Size of the last answer in the shared buffer; lmdb-js stores it on the database without declaring it. */
function lastSize(rows: BinaryDatabase): number {
  return Number(Reflect.get(rows, 'lastSize'))
}
