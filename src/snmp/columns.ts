import { compareOids, type Mib } from './agentx/answer.ts'
import { type Oid, OID_LENGTH_MAX, type Value } from './agentx/bytes.ts'

/** A row of a table; its key is its index, one character for each number. Rows are sorted by their keys. */
export interface KeyedRow {
  readonly key: string
}

/** A column of a table, or a scalar, which is a column of one row with the index 0. */
export interface Column<R extends KeyedRow> {
  readonly oid: Oid
  rows(): readonly R[]
  /** undefined while the row has no such value: the object then does not exist. */
  value(row: R): Value | undefined
}

/** Values in the order of their object identifiers: read in place, never copied. */
export class ColumnMib<R extends KeyedRow> implements Mib {
  readonly #columns: readonly Column<R>[]

  constructor(columns: readonly Column<R>[]) {
    this.#columns = columns.toSorted((a, b) => compareOids(a.oid, b.oid))
  }

  get(oid: Oid): Value | 'noSuchObject' | 'noSuchInstance' {
    const column = this.#columns.find((candidate) => startsWith(oid, candidate.oid))
    if (column === undefined) return 'noSuchObject'
    const rows = column.rows()
    const row = rows[placeOf(rows, oid, column.oid.length)]
    if (row === undefined || compareKey(row.key, oid, column.oid.length) !== 0) return 'noSuchInstance'
    return column.value(row) ?? 'noSuchInstance'
  }

  next(oid: Oid, isIncluded: boolean): { readonly oid: Oid; readonly value: Value } | undefined {
    for (const column of this.#columns) {
      const isInside = startsWith(oid, column.oid)
      if (!isInside && compareOids(oid, column.oid) > 0) continue
      const rows = column.rows()
      let place = isInside ? placeOf(rows, oid, column.oid.length) : 0
      const at = rows[place]
      if (isInside && !isIncluded && at !== undefined && compareKey(at.key, oid, column.oid.length) === 0) place++
      for (let row = rows[place]; row !== undefined; row = rows[++place]) {
        const value = column.value(row)
        if (value !== undefined) return { oid: [...column.oid, ...numbersOf(row.key)], value }
      }
    }
    return undefined
  }
}

/** Returns the key for a text in a table's index, without its length (IMPLIED). */
export const impliedKey = (text: string): string => text

/** Returns the key with the text's length, so that another part may follow. */
export const countedKey = (text: string): string => String.fromCharCode(text.length) + text

/** Returns the rows whose index SNMP can express, in its order. */
export function sortedRows<R extends KeyedRow>(rows: readonly R[], columnOid: Oid): readonly R[] {
  return rows
    .filter(({ key }) => columnOid.length + key.length <= OID_LENGTH_MAX)
    .toSorted((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)))
}

const startsWith = (oid: Oid, prefix: Oid): boolean =>
  oid.length >= prefix.length && prefix.every((number, index) => oid[index] === number)

const numbersOf = (key: string): number[] => Array.from({ length: key.length }, (_, index) => key.charCodeAt(index))

/** Negative when the key comes before the rest of the identifier from `from` on. */
function compareKey(key: string, oid: Oid, from: number): number {
  const length = oid.length - from
  const shared = Math.min(key.length, length)
  for (let i = 0; i < shared; i++) {
    const difference = key.charCodeAt(i) - (oid[from + i] ?? 0)
    if (difference !== 0) return difference
  }
  return key.length - length
}

/** Returns the place of the first row that does not come before the index. */
function placeOf(rows: readonly KeyedRow[], oid: Oid, from: number): number {
  let [low, high] = [0, rows.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareKey(rows[middle]?.key ?? '', oid, from) < 0) low = middle + 1
    else high = middle
  }
  return low
}
