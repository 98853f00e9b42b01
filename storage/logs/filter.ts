import type { LogRow } from './row.ts'
import type { Columns, SegmentHead } from './segment.ts'

/** What a search looks for; every field that is given must fit. */
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
  /** Text that the path holds, with its query. */
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

/** Whether the head of a segment leaves it possible that a row fits. */
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

/** The same over columns: whether the row of this number fits; undefined when none does. Each text is tried once. */
export function testOf(columns: Columns, filter: Filter): Test | undefined {
  const { from_ms, to_ms, frontend, server, source, statuses, path, slowerThan_ms } = filter
  const tests: Test[] = []
  const number = (column: 'at_ms' | 'status' | 'total_ms', isRight: (value: number) => boolean) => {
    const values = columns.numbers(column)
    tests.push((index) => isRight(values[index] ?? -1))
  }
  let isPossible = true
  const text = (column: 'frontend' | 'server' | 'source' | 'path', isRight: (value: string) => boolean) => {
    const { different, places } = columns.texts(column)
    const right = Uint8Array.from(different, (value) => Number(isRight(value)))
    if (!right.includes(1)) isPossible = false
    tests.push((index) => right[places[index] ?? 0] === 1)
  }
  if (from_ms !== undefined || to_ms !== undefined)
    number('at_ms', (value) => value >= (from_ms ?? 0) && value < (to_ms ?? Infinity))
  if (statuses !== undefined) number('status', (value) => value >= statuses.from && value <= statuses.to)
  if (slowerThan_ms !== undefined) number('total_ms', (value) => value > slowerThan_ms)
  if (frontend !== undefined) text('frontend', (value) => value === frontend)
  if (isPossible && server !== undefined) text('server', (value) => value === server)
  if (isPossible && source !== undefined) text('source', (value) => value === source)
  if (isPossible && path !== undefined) text('path', (value) => value.includes(path))
  return isPossible ? (index) => tests.every((test) => test(index)) : undefined
}
