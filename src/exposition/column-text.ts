import type { JsonBuffer } from '../base/json-buffer.ts'
import type { ChangedNumbers } from './changed-numbers.ts'
import type { Labels } from './labels.ts'

const LINE = 0x0a
/** Objects whose lines are written before other work may take a turn. */
export const PORTION = 128

/**
 * The lines of one metric: the constant labels of each object, and a number. Most numbers keep their length, so the
 * lines are copied from the previous document, many at a time, and changed digits are overwritten.
 */
export class ColumnText {
  readonly #name: Uint8Array
  readonly labels: Labels
  readonly #labels: Buffer
  readonly #close: Uint8Array
  /** The document with the present lines, where they begin in it, and where those of the next portion begin. */
  #old: Buffer | undefined
  #oldStart = 0
  #oldNext = 0
  #start = 0
  /** Index of the first changed number of the next portion. */
  #next = 0
  /** The end of each object's line, relative to its portion, and the length of its number; 0 if it has no line. */
  readonly #ends: Uint32Array
  readonly #digits: Uint8Array

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
    this.#oldNext = this.#oldStart
    this.#next = 0
  }

  /** Writes the lines of the objects from `first` up to `end`, exclusive. */
  portion(out: JsonBuffer, first: number, end: number, numbers: ChangedNumbers): void {
    const { objects, bytes, starts, lengths, count } = numbers
    const start = out.length
    const from = this.#next
    while (this.#next < count && (objects[this.#next] ?? 0) < end) this.#next++
    this.#layOut(out, first, end, numbers, from)
    for (let number = from; number < this.#next; number++) {
      const [digits, length] = [starts[number] ?? 0, lengths[number] ?? 0]
      const lineEnd = start + (this.#ends[objects[number] ?? 0] ?? 0)
      if (length > 0) out.over(lineEnd - 1 - length, bytes, digits, digits + length)
    }
  }

  /** Copies the lines, except for numbers whose length changed: those lines are rewritten, and what follows moves. */
  #layOut(out: JsonBuffer, first: number, end: number, { objects, lengths }: ChangedNumbers, from: number): void {
    const [ends, start, old] = [this.#ends, out.length, this.#oldNext]
    this.#oldNext += ends[end - 1] ?? 0
    let [copied, shift, moved] = [old, 0, first]
    for (let number = from; number < this.#next; number++) {
      const object = objects[number] ?? 0
      const length = lengths[number] ?? 0
      if (length === this.#digits[object]) continue
      this.#move(moved, object, shift)
      this.#copy(out, copied, old + (object === first ? 0 : (ends[object - 1] ?? 0) - shift))
      const oldEnd = ends[object] ?? 0
      copied = old + oldEnd
      this.#line(out, object, length)
      ends[object] = out.length - start
      shift = out.length - start - oldEnd
      moved = object + 1
    }
    this.#move(moved, end, shift)
    this.#copy(out, copied, this.#oldNext)
  }

  #move(first: number, end: number, shift: number): void {
    const ends = this.#ends
    if (shift !== 0) for (let object = first; object < end; object++) ends[object] = (ends[object] ?? 0) + shift
  }

  #copy(out: JsonBuffer, from: number, to: number): void {
    if (this.#old !== undefined && to > from) out.append(this.#old, from, to)
  }

  /** Writes the line of an object with room for its digits. */
  #line(out: JsonBuffer, object: number, length: number): void {
    this.#digits[object] = length
    if (length === 0) return
    out.raw(this.#name)
    out.append(this.#labels, this.labels.ends[object - 1] ?? 0, this.labels.ends[object] ?? 0)
    out.raw(this.#close)
    out.skip(length)
    out.byte(LINE)
  }

  /** Notes the document that contains the lines from now on. */
  keep(document: Buffer): void {
    this.#old = document
    this.#oldStart = this.#start
  }
}
