import { fieldEnd } from '../drivers/haproxy/stats-csv.ts'
import { PORTION } from './column-text.ts'
import type { Layer7Input } from './layer7-input.ts'

const [COMMA, LINE, QUOTE, ZERO, NINE] = [0x2c, 0x0a, 0x22, 0x30, 0x39] as const
/** Digits of the largest number of 64 bits. */
const WIDTH = 20

/**
 * The columns of HAProxy's answer that are wanted, with the numbers of one column side by side: an answer of megabytes
 * is read once, from one end to the other. The first column is the status, of which the letters are kept.
 */
export class TakenColumns {
  readonly #names: readonly string[]
  readonly #objects: number
  /** WIDTH bytes of each object, column by column. */
  readonly digits: Uint8Array
  readonly #lengths: Uint8Array

  constructor(objects: number, names: readonly string[]) {
    this.#names = names
    this.#objects = objects
    this.digits = new Uint8Array(objects * names.length * WIDTH)
    this.#lengths = new Uint8Array(objects * names.length)
  }

  from(object: number, place: number): number {
    return (place * this.#objects + object) * WIDTH
  }
  /** Of what is a whole number and not negative; else 0. */
  length(object: number, place: number): number {
    return this.#lengths[place * this.#objects + object] ?? 0
  }

  /** The first two of its status. */
  letters(object: number): readonly [number | undefined, number | undefined] {
    const from = this.from(object, 0)
    return this.length(object, 0) < 2 ? [undefined, undefined] : [this.digits[from], this.digits[from + 1]]
  }

  /** `rowOf`: number of the row of each object; negative where it has none. */
  *read({ csv, rows, columns: known }: Pick<Layer7Input, 'csv' | 'rows' | 'columns'>, rowOf: Int32Array) {
    const columns = this.#names.map((name) => known.get(name) ?? -1)
    const last = Math.max(...columns)
    // Which place a column has, as it is met; 0 stands for none.
    const placeOf = new Uint8Array(last + 1)
    for (const [place, one] of columns.entries()) if (one >= 0) placeOf[one] = place + 1
    this.#lengths.fill(0)
    for (let object = 0; object < rowOf.length; object++) {
      if (object % PORTION === PORTION - 1) yield
      const row = rowOf[object] ?? -1
      if (row >= 0) this.#readRow(object, csv, rows[row] ?? 0, placeOf)
    }
  }

  #readRow(object: number, csv: Uint8Array, start: number, placeOf: Uint8Array): void {
    let at = start
    for (let column = 0; column < placeOf.length; column++) {
      let end = at
      if (csv[at] === QUOTE) end = fieldEnd(csv, at)
      else for (let byte = csv[end]; byte !== COMMA && byte !== LINE && byte !== undefined; byte = csv[++end]);
      const place = placeOf[column] ?? 0
      if (place > 0 && end > at) this.#take(object, place - 1, csv, at, end)
      at = end + 1
    }
  }

  #take(object: number, place: number, csv: Uint8Array, from: number, to: number): void {
    const { digits } = this
    let at = this.from(object, place)
    if (place > 0 && to - from > WIDTH) return
    const end = Math.min(to, from + WIDTH)
    for (let i = from; i < end; i++) {
      const byte = csv[i] ?? 0
      if (place > 0 && (byte < ZERO || byte > NINE)) return
      digits[at++] = byte
    }
    this.#lengths[place * this.#objects + object] = end - from
  }
}
