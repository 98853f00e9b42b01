import { fieldEnd, fieldText, findHeader, kindOf, SERVER_ROW, type StatHeader } from '../drivers/haproxy/stats-csv.ts'
import { rowKey } from './live-plan.ts'

/**
 * An answer of HAProxy: its bytes, the offsets of its header and of every row that counts, the kind of each row except
 * the header (as HAProxy numbers them), and the layout, which identifies the set of rows.
 */
export interface LiveBytes {
  readonly csv: Uint8Array
  readonly rows: Uint32Array
  readonly kinds: Uint8Array
  readonly layout: number
}

/** A row of an earlier answer. */
interface KnownRow {
  readonly kind: number
  /** Start of its line. It matches no line if HAProxy quotes its names; the row is then read each time. */
  readonly begin: string
  readonly key: string
}

/**
 * Assigns the rows of HAProxy's answer to objects; read again only when the rows change. Most of them are then the same
 * in the same order, and are recognised by the start of their lines.
 */
export class LiveRows {
  #layout = -1
  #header: StatHeader | undefined
  #rowOf = new Map<string, number>()
  #known: readonly KnownRow[] = []

  /** Columns by name, from the last header. */
  get columns(): StatHeader['columns'] {
    return this.#header?.columns ?? new Map()
  }

  /** Layout of the known rows. */
  get layout(): number {
    return this.#layout
  }

  /** The next HAProxy process may number its layouts differently. */
  forget(): void {
    this.#layout = -1
  }

  /** Follows an answer; returns whether its rows differ from those before. */
  follow({ csv, rows, kinds, layout }: LiveBytes): boolean {
    if (layout === this.#layout) return false
    const header = findHeader(csv, rows[0])
    if (header === undefined) return false
    this.#layout = layout
    this.#header = header
    const [before, rowBefore] = [this.#known, this.#rowOf]
    const known: KnownRow[] = []
    const rowOf = new Map<string, number>()
    // In the answer before: the row behind the one that was recognised last.
    let next = 0
    for (let row = 1; row < rows.length; row++) {
      const [start, kind] = [rows[row] ?? 0, kinds[row - 1] ?? SERVER_ROW]
      let found = before[next]
      if (found?.kind === kind && beginsWith(csv, start, found.begin)) next++
      else {
        found = readRow(csv, start, kind)
        // Rows count from 1, so this is the next row. A new row stands before the expected one.
        next = rowBefore.get(found.key) ?? next
      }
      known.push(found)
      rowOf.set(found.key, row)
    }
    this.#known = known
    this.#rowOf = rowOf
    return true
  }

  /** Returns the row number (see `rowKey`). */
  get(key: string): number | undefined {
    return this.#rowOf.get(key)
  }
}

function readRow(csv: Uint8Array, start: number, kind: number): KnownRow {
  const [proxy, server] = [fieldText(csv, start), fieldText(csv, skipFields(csv, start, 1))]
  return { kind, begin: `${proxy},${server},`, key: rowKey(kindOf(kind), proxy, server) }
}

function beginsWith(csv: Uint8Array, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (csv[at + i] !== text.charCodeAt(i)) return false
  return true
}

/** Returns the start of the field that is `columns` columns behind the one at `start`. */
export function skipFields(csv: Uint8Array, start: number, columns: number): number {
  let at = start
  for (let column = 0; column < columns; column++) at = fieldEnd(csv, at) + 1
  return at
}
