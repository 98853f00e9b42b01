import type { JsonBuffer } from '../base/json-buffer.ts'
import type { Labels } from './labels.ts'

const LINE = 0x0a
/** Objects whose lines are copied at once: what has to be copied again, when a number got longer, is no more. */
export const PORTION = 128

/**
 * The lines of one metric: of each object its labels, which stay, and a number. Most numbers have as many digits as the
 * last time, so the lines are copied from the document before, many at once, and the digits are written over.
 */
export class ColumnText {
  readonly #name: Uint8Array
  readonly labels: Labels
  readonly #labels: Buffer
  readonly #close: Uint8Array
  /** The document that the lines stand in, and where they begin there. */
  #old: Buffer | undefined
  #oldStart = 0
  /** Behind the line of each object, from the first one on, and the length of its number; 0: it has no line. */
  readonly #ends: Uint32Array
  readonly #digits: Uint8Array
  #start = 0
  /** Where the lines of the last portion ended in the document before. */
  #lastEnd = 0

  constructor(name: Uint8Array, labels: Labels, close: Uint8Array) {
    const { bytes, ends } = labels
    this.#name = name
    this.labels = labels
    this.#labels = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#close = close
    this.#ends = new Uint32Array(ends.length)
    this.#digits = new Uint8Array(ends.length)
  }

  begin(out: JsonBuffer): void {
    this.#start = out.length
  }

  /** Writes the lines of objects from `first` to before `end`. `values` finds the digits of one of them. */
  portion(out: JsonBuffer, first: number, end: number, values: Values): void {
    const ends = this.#ends
    const from = first === 0 ? 0 : this.#lastEnd
    const to = ends[end - 1] ?? 0
    let shift = out.length - this.#start - from
    this.#copy(out, from, to)
    for (let object = first; object < end; object++) {
      values.find(object)
      const length = lengthOf(values)
      const oldEnd = ends[object] ?? 0
      if (length === this.#digits[object]) {
        const place = oldEnd + shift
        if (length > 0) out.over(this.#start + place - 1 - length, values.bytes, values.from, values.to)
        ends[object] = place
      } else {
        const place = object === first ? from + shift : (ends[object - 1] ?? 0)
        shift = this.#replace(out, place, object, values) - oldEnd
        this.#copy(out, oldEnd, to)
      }
    }
    this.#lastEnd = to
  }

  #copy(out: JsonBuffer, from: number, to: number): void {
    if (this.#old !== undefined && to > from) out.append(this.#old, this.#oldStart + from, this.#oldStart + to)
  }

  /** Writes the whole line of an object at this place. Answers where it ends. */
  #replace(out: JsonBuffer, place: number, object: number, values: Values): number {
    out.cut(this.#start + place)
    const length = lengthOf(values)
    if (length > 0) {
      out.raw(this.#name)
      out.append(this.#labels, this.labels.ends[object - 1] ?? 0, this.labels.ends[object] ?? 0)
      out.raw(this.#close)
      out.copy(values.bytes, values.from, values.to)
      out.byte(LINE)
    }
    this.#digits[object] = length
    const end = out.length - this.#start
    this.#ends[object] = end
    return end
  }

  /** The lines stand in this document from now on. */
  keep(document: Buffer): void {
    this.#old = document
    this.#oldStart = this.#start
  }
}

/** Where the digits of an object are; nowhere while `to` is not behind `from`. */
export interface Values {
  bytes: Uint8Array
  from: number
  to: number
  find(object: number): void
}

const lengthOf = ({ from, to }: Values): number => Math.max(0, to - from)
