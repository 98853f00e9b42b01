import { existsSync } from 'node:fs'
import { type Filter, fits, mayHold, testOf } from './filter.ts'
import type { LogRow, PlacedRow } from './row.ts'
import type { Columns, Segment } from './segment.ts'
import type { LogStore } from './store.ts'

/** The last row of the previous page: only rows with smaller numbers follow. */
export interface Cursor {
  readonly segment: number
  readonly index: number
}

export interface Found {
  /** Newest first. */
  readonly rows: readonly PlacedRow[]
  /** Whether there may be more after the last one. */
  readonly isMore: boolean
  readonly damage: readonly string[]
}

export interface Counted {
  readonly paths: ReadonlyMap<string, number>
  readonly sources: ReadonlyMap<string, number>
  readonly statuses: ReadonlyMap<number, number>
  /** Slowest first. */
  readonly slowest: readonly PlacedRow[]
  readonly rows: number
  readonly damage: readonly string[]
}

/** A search that pauses between segments, so that its caller can do other work. */
export type Search<T> = Generator<undefined, T>

/** Finds rows, newest first by the end of their answers. */
export function* search(store: LogStore, filter: Filter, limit: number, after?: Cursor): Search<Found> {
  const rows: PlacedRow[] = []
  const damage: string[] = []
  const { number, rows: open } = store.open
  // Segments removed or closed meanwhile do not affect this search.
  const segments = store.segments.toReversed()
  const isBefore = (segment: number) => after === undefined || segment <= after.segment
  const endOf = (segment: number, length: number) =>
    after !== undefined && segment === after.segment ? Math.min(after.index, length) : length
  if (isBefore(number)) {
    for (let index = endOf(number, open.length) - 1; index >= 0 && rows.length < limit; index--) {
      const row = open[index]
      if (row !== undefined && fits(row, filter)) rows.push({ segment: number, index, row })
    }
  }
  for (const segment of segments) {
    if (rows.length >= limit) return { rows, isMore: true, damage }
    if (!isBefore(segment.number) || !mayHold(segment.head, filter)) continue
    try {
      segment.read((columns) => {
        const test = testOf(columns, filter)
        if (test === undefined) return
        for (let index = endOf(segment.number, columns.rows) - 1; index >= 0 && rows.length < limit; index--)
          if (test(index)) rows.push({ segment: segment.number, index, row: columns.row(index) })
      })
    } catch (error) {
      damage.push(...damageOf(segment, error))
    }
    yield
  }
  return { rows, isMore: rows.length >= limit, damage }
}

/**
 * Maximum number of distinct paths and sources that are counted: beyond it, the rarest are dropped from time to time.
 */
const COUNTED_MAX = 50_000

/** Counts each path (without its query), source and status, and finds the slowest answers. */
export function* count(store: LogStore, filter: Filter, slowest_max: number): Search<Counted> {
  const paths = new Map<string, number>()
  const sources = new Map<string, number>()
  const statuses = new Map<number, number>()
  const damage: string[] = []
  let slowest: PlacedRow[] = []
  let rows = 0
  const slow = (some: readonly PlacedRow[]) => {
    slowest = [...slowest, ...some].toSorted((a, b) => b.row.total_ms - a.row.total_ms).slice(0, slowest_max)
  }
  const open = store.open
  const segments = store.segments.toReversed()
  const fitting = open.rows.flatMap((row, index) =>
    fits(row, filter) ? [{ segment: open.number, index, row } satisfies PlacedRow] : [],
  )
  for (const { row } of fitting) {
    rows++
    add(paths, pathOf(row), 1)
    add(sources, row.source, 1)
    add(statuses, row.status, 1)
  }
  slow(fitting)
  for (const segment of segments) {
    yield
    if (!mayHold(segment.head, filter)) continue
    try {
      segment.read((columns) => {
        const test = testOf(columns, filter)
        if (test === undefined) return
        const chosen: number[] = []
        for (let index = 0; index < columns.rows; index++) if (test(index)) chosen.push(index)
        rows += chosen.length
        countTexts(columns, 'path', chosen, paths, withoutQuery)
        countTexts(columns, 'source', chosen, sources, (source) => source)
        const status = columns.numbers('status')
        for (const index of chosen) add(statuses, status[index] ?? 0, 1)
        const total = columns.numbers('total_ms')
        const longest = chosen.toSorted((a, b) => (total[b] ?? 0) - (total[a] ?? 0)).slice(0, slowest_max)
        slow(longest.map((index) => ({ segment: segment.number, index, row: columns.row(index) })))
      })
    } catch (error) {
      damage.push(...damageOf(segment, error))
    }
    for (const counts of [paths, sources]) forgetRarest(counts)
  }
  return { paths, sources, statuses, slowest, rows, damage }
}

/** A segment that expired meanwhile is not damaged. */
function damageOf({ number, path }: Segment, error: unknown): readonly string[] {
  return existsSync(path) ? [`segment ${number}: ${String(error)}`] : []
}

const withoutQuery = (path: string): string => path.split('?', 1)[0] ?? path
const pathOf = ({ path }: LogRow) => withoutQuery(path)

function add<K>(counts: Map<K, number>, key: K, more: number): void {
  counts.set(key, (counts.get(key) ?? 0) + more)
}

function countTexts(
  columns: Columns,
  column: 'path' | 'source',
  chosen: readonly number[],
  counts: Map<string, number>,
  shown: (text: string) => string,
): void {
  const { different, places } = columns.texts(column)
  const sums = new Uint32Array(different.length)
  for (const index of chosen) {
    const place = places[index] ?? 0
    sums[place] = (sums[place] ?? 0) + 1
  }
  for (const [place, sum] of sums.entries()) if (sum > 0) add(counts, shown(different[place] ?? ''), sum)
}

function forgetRarest(counts: Map<string, number>): void {
  if (counts.size <= COUNTED_MAX) return
  const rarest = [...counts].toSorted(([, a], [, b]) => a - b).slice(0, counts.size - COUNTED_MAX / 2)
  for (const [key] of rarest) counts.delete(key)
}
