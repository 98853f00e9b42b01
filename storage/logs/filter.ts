import type { LogRow, TextColumn } from './row.ts'
import type { Columns, SegmentHead } from './segment.ts'

/** The filter of a search; every given field must match. */
export interface Filter {
  /** Inclusive. */
  readonly from_ms?: number | undefined
  /** Exclusive. */
  readonly to_ms?: number | undefined
  readonly frontend?: string | undefined
  readonly server?: string | undefined
  readonly source?: string | undefined
  /** Inclusive. */
  readonly statuses?: { readonly from: number; readonly to: number } | undefined
  /** Text that the path, including its query, contains. */
  readonly path?: string | undefined
  readonly slowerThan_ms?: number | undefined
}

export function fits(row: LogRow, filter: Filter): boolean {
  const { from_ms = -Infinity, to_ms = Infinity, slowerThan_ms = -Infinity, statuses, path = '' } = filter
  return (
    row.at_ms >= from_ms &&
    row.at_ms < to_ms &&
    row.total_ms > slowerThan_ms &&
    SAME.every((column) => filter[column] === undefined || row[column] === filter[column]) &&
    (statuses === undefined || (row.status >= statuses.from && row.status <= statuses.to)) &&
    row.path.includes(path)
  )
}

const SAME = ['frontend', 'server', 'source'] as const

/** Whether the head of a segment allows any row to match. */
export function mayHold(
  head: SegmentHead,
  { from_ms, to_ms, frontend, server, source, statuses, slowerThan_ms }: Filter,
): boolean {
  const isListed = (value: string | undefined, list: readonly string[] | null) =>
    value === undefined || list === null || list.includes(value)
  return (
    (from_ms === undefined || head.to_ms >= from_ms) &&
    (to_ms === undefined || head.from_ms < to_ms) &&
    (slowerThan_ms === undefined || head.slowest_ms > slowerThan_ms) &&
    (statuses === undefined || head.statuses.some((one) => one >= statuses.from && one <= statuses.to)) &&
    isListed(frontend, head.frontends) &&
    isListed(server, head.servers) &&
    isListed(source, head.sources)
  )
}

type Test = (index: number) => boolean

/**
 * Returns a test for rows by index; undefined when no row matches. Each text is tested once, and if its bytes are not
 * in a column's list, nothing else is read.
 */
export function testOf(columns: Columns, filter: Filter): Test | undefined {
  const { from_ms, to_ms, frontend, server, source, statuses, path, slowerThan_ms } = filter
  const tests: Test[] = []
  /** A list holds texts as JSON writes them, and so every part of one. */
  const text = (column: TextColumn, written: string, isRight: (value: string) => boolean): boolean => {
    if (!columns.isWritten(column, written)) return false
    const { different, places } = columns.texts(column)
    const right = Uint8Array.from(different, (value) => Number(isRight(value)))
    tests.push((index) => right[places[index] ?? 0] === 1)
    return right.includes(1)
  }
  const whole = (column: TextColumn, wanted: string | undefined): boolean =>
    wanted === undefined || text(column, JSON.stringify(wanted), (value) => value === wanted)
  const part = (column: TextColumn, wanted: string | undefined): boolean =>
    wanted === undefined || text(column, JSON.stringify(wanted).slice(1, -1), (value) => value.includes(wanted))
  const isPossible =
    whole('frontend', frontend) && whole('server', server) && whole('source', source) && part('path', path)
  if (!isPossible) return undefined
  const number = (column: 'at_ms' | 'status' | 'total_ms', isRight: (value: number) => boolean) => {
    const values = columns.numbers(column)
    tests.push((index) => isRight(values[index] ?? -1))
  }
  if (from_ms !== undefined || to_ms !== undefined)
    number('at_ms', (value) => value >= (from_ms ?? 0) && value < (to_ms ?? Infinity))
  if (statuses !== undefined) number('status', (value) => value >= statuses.from && value <= statuses.to)
  if (slowerThan_ms !== undefined) number('total_ms', (value) => value > slowerThan_ms)
  return (index) => tests.every((test) => test(index))
}
