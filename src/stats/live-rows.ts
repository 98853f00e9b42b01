import {
  BACKEND_ROW,
  fieldEnd,
  fieldText,
  findHeader,
  FRONTEND_ROW,
  type StatHeader,
} from '../drivers/haproxy/stats-csv.ts'
import { rowKey } from './live-plan.ts'

/** An answer of HAProxy: its bytes, the offsets of its header and of every row that counts, and which rows they are. */
export interface LiveBytes {
  readonly csv: Uint8Array
  readonly rows: Uint32Array
  readonly layout: number
}

/** Which row of HAProxy's answer is which object; looked at anew only when the rows are others. */
export class LiveRows {
  #layout = -1
  #header: StatHeader | undefined
  readonly #rowOf = new Map<string, number>()
  #kinds = new Uint8Array(0)

  /** By its name, of the header that was met last. */
  get columns(): StatHeader['columns'] {
    return this.#header?.columns ?? new Map()
  }

  /** Of the rows that are known. */
  get layout(): number {
    return this.#layout
  }

  /** Of each row: 0 a frontend, 1 a backend, 2 a server. */
  get kinds(): Uint8Array {
    return this.#kinds
  }

  /** Whoever answers next may count its layouts anew. */
  forget(): void {
    this.#layout = -1
  }

  /** Whether the rows are others than before. */
  follow({ csv, rows, layout }: LiveBytes): boolean {
    if (layout === this.#layout) return false
    const header = findHeader(csv, rows[0])
    if (header === undefined) return false
    this.#layout = layout
    this.#header = header
    const type = header.columns.get('type') ?? 0
    this.#rowOf.clear()
    this.#kinds = new Uint8Array(rows.length)
    for (let row = 1; row < rows.length; row++) {
      const start = rows[row] ?? 0
      const proxy = fieldText(csv, start)
      const kind = Number(fieldText(csv, skipFields(csv, start, type)))
      const server = fieldText(csv, skipFields(csv, start, 1))
      this.#kinds[row] = kind === FRONTEND_ROW ? 0 : kind === BACKEND_ROW ? 1 : 2
      this.#rowOf.set(
        rowKey(kind === FRONTEND_ROW ? 'frontend' : kind === BACKEND_ROW ? 'backend' : 'server', proxy, server),
        row,
      )
    }
    return true
  }

  /** See `rowKey`. */
  get(key: string): number | undefined {
    return this.#rowOf.get(key)
  }
}

/** Where the field begins that is so many columns behind the one at `start`. */
export function skipFields(csv: Uint8Array, start: number, columns: number): number {
  let at = start
  for (let column = 0; column < columns; column++) at = fieldEnd(csv, at) + 1
  return at
}
