import { JsonBuffer } from '../base/json-buffer.ts'
import { fieldEnd } from '../drivers/haproxy/stats-csv.ts'
import { ChangedNumbers } from './changed-numbers.ts'
import { PORTION } from './column-text.ts'
import type { Layer7Input } from './layer7-input.ts'

const [COMMA, LINE, QUOTE, ZERO, NINE] = [0x2c, 0x0a, 0x22, 0x30, 0x39] as const
/** Digits of the largest 64-bit number. */
const WIDTH = 20
const MILLI = 1_000
const NOTHING = new Uint8Array(0)
/** Words of four bytes, up to the last wanted cell of a row; a longer row is parsed each time. */
const WORDS = 96

export interface TakenColumn {
  readonly column: string
  /** Whether to convert its values to seconds. */
  readonly isMilliseconds?: boolean
}

/**
 * Reads the wanted columns of HAProxy's answer, and returns the numbers of each that changed. An answer of megabytes is
 * read once, from beginning to end.
 *
 * The positions of the cells in a row depend only on its commas, quotes and line ends. So a row is compared with its
 * previous version, four bytes at a time, and while only other bytes have changed, its cells are where they were.
 * Numbers seldom get longer, so few rows are parsed byte by byte.
 */
export class TakenColumns {
  readonly numbers: readonly ChangedNumbers[]
  /** The first two letters of each object's status; 0 if it has none. */
  readonly letters: Uint8Array
  readonly #taken: readonly TakenColumn[]
  /** Per object, its last row and how many words of it are known; 0 if it must be parsed. */
  readonly #words: Int32Array
  readonly #counts: Uint8Array
  /** The beginnings and ends of the wanted cells in a known row, from left to right. */
  readonly #cells: Uint16Array
  /** Index of each column in the answer, with the status last; negative if it is absent. */
  #columns: readonly number[] = []
  /** The wanted columns that exist, from left to right, and those that do not. */
  #wanted = new Uint8Array(0)
  #absent = new Uint8Array(0)
  #csv: Uint8Array = NOTHING
  #view: DataView = new DataView(NOTHING.buffer)
  /** Indexes of the changed words of a row. */
  readonly #changed = new Uint8Array(WORDS)
  /** The values read, in their written form. */
  readonly #text = new JsonBuffer()

  constructor(objects: number, taken: readonly TakenColumn[]) {
    this.numbers = taken.map(() => new ChangedNumbers(objects, NOTHING))
    this.letters = new Uint8Array(objects * 2)
    this.#taken = taken
    this.#words = new Int32Array(objects * WORDS)
    this.#counts = new Uint8Array(objects)
    this.#cells = new Uint16Array(objects * (taken.length + 1) * 2)
  }

  /** `rowOf` is the row number of each object; negative if it has none. */
  *read({ csv, rows, columns }: Pick<Layer7Input, 'csv' | 'rows' | 'columns'>, rowOf: Int32Array): Generator<void> {
    this.#csv = csv
    this.#view = new DataView(csv.buffer, csv.byteOffset, csv.byteLength)
    for (const numbers of this.numbers) numbers.count = 0
    this.#text.clear()
    this.#want([...this.#taken.map(({ column }) => columns.get(column) ?? -1), columns.get('status') ?? -1])
    for (let first = 0; first < rowOf.length; first += PORTION) {
      this.#portion(first, Math.min(first + PORTION, rowOf.length), rows, rowOf)
      yield
    }
    const bytes = this.#text.view()
    for (const numbers of this.numbers) numbers.bytes = bytes
  }

  #want(columns: readonly number[]): void {
    if (columns.every((column, place) => column === this.#columns[place])) return
    const column = (place: number) => columns[place] ?? -1
    const places = [...columns.keys()].toSorted((a, b) => column(a) - column(b))
    this.#columns = columns
    this.#wanted = Uint8Array.from(places.filter((place) => column(place) >= 0))
    this.#absent = Uint8Array.from(places.filter((place) => column(place) < 0))
    this.#counts.fill(0)
  }

  #portion(first: number, end: number, rows: Uint32Array, rowOf: Int32Array): void {
    for (let object = first; object < end; object++) {
      const row = rowOf[object] ?? -1
      const start = rows[row] ?? 0
      if (row < 0) this.#lack(object)
      else if (!this.#follow(object, start)) this.#walk(object, start)
    }
  }

  #lack(object: number): void {
    this.#counts[object] = 0
    for (let place = 0; place < this.#columns.length; place++) this.#take(object, place, 0, 0)
  }

  /** Reads the changed cells, if no cell has moved. Returns whether that is so. */
  #follow(object: number, start: number): boolean {
    const changes = this.#compare(object, start)
    const [changed, cells, wanted] = [this.#changed, this.#cells, this.#wanted]
    const first = this.#cellsOf(object)
    let next = 0
    for (let change = 0; change < changes; change++) {
      const from = (changed[change] ?? 0) * 4
      while (next < wanted.length && (cells[first + next * 2 + 1] ?? 0) <= from) next++
      for (; next < wanted.length && (cells[first + next * 2] ?? 0) < from + 4; next++) {
        const cell = first + next * 2
        this.#take(object, wanted[next] ?? 0, start + (cells[cell] ?? 0), start + (cells[cell + 1] ?? 0))
      }
    }
    return changes >= 0
  }

  #cellsOf(object: number): number {
    return object * (this.#taken.length + 1) * 2
  }

  /** Notes which words changed, and returns their number; negative if cells may have moved. */
  #compare(object: number, start: number): number {
    const [view, words, changed] = [this.#view, this.#words, this.#changed]
    const count = this.#counts[object] ?? 0
    if (count === 0 || start + count * 4 > view.byteLength) return -1
    const first = object * WORDS
    let changes = 0
    for (let word = 0; word < count; word++) {
      const now = view.getInt32(start + word * 4, true)
      const before = words[first + word] ?? 0
      if (now === before) continue
      if (!hasSameShape(now, before)) return -1
      words[first + word] = now
      changed[changes++] = word
    }
    return changes
  }

  #walk(object: number, start: number): void {
    const csv = this.#csv
    let cell = this.#cellsOf(object)
    let [at, end, column] = [start, start - 1, -1]
    for (const place of this.#wanted) {
      for (const wanted = this.#columns[place] ?? 0; column < wanted; column++) {
        at = end + 1
        end = cellEnd(csv, at)
      }
      this.#cells[cell++] = at - start
      this.#cells[cell++] = end - start
      this.#take(object, place, at, end)
    }
    for (const place of this.#absent) this.#take(object, place, 0, 0)
    this.#remember(object, start, end + 1)
  }

  #remember(object: number, start: number, end: number): void {
    const [view, words] = [this.#view, this.#words]
    const count = (end - start + 3) >> 2
    const isKnown = count <= WORDS && start + count * 4 <= view.byteLength
    this.#counts[object] = isKnown ? count : 0
    if (isKnown)
      for (let word = 0; word < count; word++) words[object * WORDS + word] = view.getInt32(start + word * 4, true)
  }

  /** Reads a whole, non-negative number, or the letters of a status. */
  #take(object: number, place: number, from: number, to: number): void {
    const [numbers, text, start] = [this.numbers[place], this.#text, this.#text.length]
    if (numbers === undefined) {
      this.#takeLetters(object, from, to)
      return
    }
    if (to > from && to - from <= WIDTH && isNumber(this.#csv, from, to)) {
      if (this.#taken[place]?.isMilliseconds === true) text.number(numberIn(this.#csv, from, to) / MILLI)
      else text.copy(this.#csv, from, to)
    }
    numbers.add(object, start, text.length)
  }

  #takeLetters(object: number, from: number, to: number): void {
    const hasLetters = to - from >= 2
    this.letters[object * 2] = hasLetters ? (this.#csv[from] ?? 0) : 0
    this.letters[object * 2 + 1] = hasLetters ? (this.#csv[from + 1] ?? 0) : 0
  }
}

const [LOW, HIGH, BEYOND_COMMA] = [0x7f_7f_7f_7f, 0x80_80_80_80, 0x53_53_53_53] as const

/** Whether, of four bytes, those that differ are above the comma in both words: quotes and line ends are below it. */
function hasSameShape(now: number, before: number): boolean {
  const differ = now ^ before
  const areOthers = ((differ & LOW) + LOW) | differ
  return (areOthers & (upToComma(now) | upToComma(before)) & HIGH) === 0
}
const upToComma = (word: number): number => ~(((word & LOW) + BEYOND_COMMA) | word)

function isNumber(csv: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if ((csv[at] ?? 0) < ZERO || (csv[at] ?? 0) > NINE) return false
  return true
}

function numberIn(csv: Uint8Array, from: number, to: number): number {
  let value = 0
  for (let at = from; at < to; at++) value = value * 10 + (csv[at] ?? 0) - ZERO
  return value
}

function cellEnd(csv: Uint8Array, at: number): number {
  if (csv[at] === QUOTE) return fieldEnd(csv, at)
  let end = at
  for (let byte = csv[end]; byte !== COMMA && byte !== LINE && byte !== undefined; byte = csv[++end]);
  return end
}
