import type { CountingTotals } from '../stats/counting-age.ts'
import { rowKey } from '../stats/live-plan.ts'
import type { ObjectNames } from '../stats/names.ts'
import type { LiveAnswers } from '../stats/live.ts'
import type { Mib } from './agentx/answer.ts'
import type { Oid, Value } from './agentx/bytes.ts'
import { type Column, ColumnMib, countedKey, impliedKey, type KeyedRow, sortedRows } from './columns.ts'

/**
 * FULCRUM-MIB (see docs/FULCRUM-MIB.txt): in the part of Net-SNMP's tree for organisations without their own number.
 */
export const FULCRUM_OID: Oid = [1, 3, 6, 1, 4, 1, 8072, 9999, 9999, 70]
const OBJECTS: Oid = [...FULCRUM_OID, 1]

export interface FiguresSource {
  readonly names: ObjectNames
  readonly live: Pick<LiveAnswers, 'figure'> & { readonly counting: Pick<CountingTotals, 'age_ms'> }
  /** Whether HAProxy answered the last time. */
  answers(): boolean
  readonly nodeId: string
  readonly version: string
}

interface ObjectRow extends KeyedRow {
  readonly name: string
  /** Row key of its figures. */
  readonly figures: string
  readonly backendName?: string
}

interface Tables {
  readonly frontends: readonly ObjectRow[]
  readonly backends: readonly ObjectRow[]
  readonly reals: readonly ObjectRow[]
}

/** FulcrumState of the MIB. */
const STATE = { unknown: 1, up: 2, down: 3, draining: 4, maintenance: 5, unchecked: 6, stopped: 7 } as const

/** Returns the state for HAProxy's status: "UP 1/3" is failing, "DOWN 1/2" is recovering. */
export function stateOf(status: string | undefined): number {
  const [word = ''] = (status ?? '').split(' ')
  if (['UP', 'OPEN', 'FULL'].includes(word)) return STATE.up
  if (word === 'DOWN') return STATE.down
  if (['DRAIN', 'NOLB'].includes(word)) return STATE.draining
  if (['MAINT', 'PAUSED'].includes(word)) return STATE.maintenance
  if (word === 'STOP') return STATE.stopped
  return status === 'no check' ? STATE.unchecked : STATE.unknown
}

const TEXT_MAX = 255
const text = (value: string): Value => {
  const bytes = Buffer.from(value)
  // Cut at the end of a character.
  let end = Math.min(bytes.length, TEXT_MAX)
  while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return { kind: 'text', value: bytes.subarray(0, end).toString() }
}
const gauge = (value: number): Value => ({ kind: 'gauge', value: Math.min(value, 0xffff_ffff) })

/** Returns the number, if it is one: HAProxy leaves some columns of some rows empty. */
function figure(kind: 'gauge' | 'counter64', said: string | undefined): Value | undefined {
  if (said === undefined || !/^\d{1,20}$/.test(said)) return undefined
  return kind === 'gauge' ? gauge(Number(said)) : { kind, value: BigInt(said) }
}

const FIGURES = [
  { number: 5, kind: 'gauge', column: 'scur' },
  { number: 6, kind: 'counter64', column: 'stot' },
  { number: 7, kind: 'counter64', column: 'bin' },
  { number: 8, kind: 'counter64', column: 'bout' },
  { number: 9, kind: 'gauge', column: 'rate' },
] as const

/**
 * Returns the MIB. Every request is answered from HAProxy's last answer; only the list of objects is kept, until it
 * changes.
 */
export function fulcrumMib(source: FiguresSource): Mib {
  const tables = tablesOf(source.names)
  const columns = [
    ...scalars(source, tables),
    ...tableColumns([...OBJECTS, 2, 1], () => tables().frontends, source),
    ...tableColumns([...OBJECTS, 3, 1], () => tables().backends, source),
    ...tableColumns([...OBJECTS, 4, 1], () => tables().reals, source),
    column(
      [...OBJECTS, 4, 1, 10],
      () => tables().reals,
      ({ backendName = '' }) => text(backendName),
    ),
  ]
  return new ColumnMib(columns)
}

const column = (
  oid: Oid,
  rows: () => readonly ObjectRow[],
  value: (row: ObjectRow) => Value | undefined,
): Column<ObjectRow> => ({ oid, rows, value })

const ONLY_ROW: readonly ObjectRow[] = [{ key: '\0', name: '', figures: '' }]

function scalars(source: FiguresSource, tables: () => Tables): readonly Column<ObjectRow>[] {
  const scalar = (number: number, value: () => Value) => column([...OBJECTS, 1, number], () => ONLY_ROW, value)
  return [
    scalar(1, () => text(source.nodeId)),
    scalar(2, () => text(source.version)),
    scalar(3, () => ({ kind: 'integer', value: source.answers() ? 1 : 2 })),
    scalar(4, () => gauge(tables().frontends.length)),
    scalar(5, () => gauge(tables().backends.length)),
    scalar(6, () => gauge(tables().reals.length)),
    scalar(7, () => ({ kind: 'ticks', value: Math.floor(source.live.counting.age_ms() / 10) % 2 ** 32 })),
  ]
}

function tableColumns(entry: Oid, rows: () => readonly ObjectRow[], source: FiguresSource): Column<ObjectRow>[] {
  // Without an answer no row has figures, and a search through all of them for the first one would be wasted.
  const answered = () => (source.answers() ? rows() : [])
  const { live } = source
  return [
    column([...entry, 2], rows, ({ name }) => text(name)),
    column([...entry, 3], rows, (row) => ({ kind: 'integer', value: stateOf(live.figure(row.figures, 'status')) })),
    column([...entry, 4], rows, (row) => text(live.figure(row.figures, 'status') ?? 'UNKNOWN')),
    ...FIGURES.map(({ number, kind, column: of }) =>
      column([...entry, number], answered, (row) => figure(kind, live.figure(row.figures, of))),
    ),
  ]
}

/** Returns the sorted rows; made again when a name or a member changed. */
function tablesOf(names: ObjectNames): () => Tables {
  let [made, version] = [undefined as Tables | undefined, -1]
  return () => {
    if (made !== undefined && version === names.version) return made
    version = names.version
    made = readTables(names)
    return made
  }
}

function readTables(names: ObjectNames): Tables {
  const longest: Oid = [...OBJECTS, 4, 1, 10]
  const objects = (kind: 'frontend' | 'backend') =>
    [...(kind === 'frontend' ? names.frontends() : names.backends())].map(({ id, name, called = id }) => ({
      key: impliedKey(id),
      name,
      figures: rowKey(kind, called, ''),
    }))
  const reals = [...names.backends()].flatMap((backend) =>
    backend.reals.map(({ ripId, name, called = ripId }) => ({
      key: countedKey(backend.id) + impliedKey(ripId),
      name,
      backendName: backend.name,
      figures: rowKey('server', backend.called ?? backend.id, called),
    })),
  )
  return {
    frontends: sortedRows(objects('frontend'), longest),
    backends: sortedRows(objects('backend'), longest),
    reals: sortedRows(reals, longest),
  }
}
