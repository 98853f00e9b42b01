/** One request as stored, one column per field; -1 is a time that HAProxy never measured. */
export interface LogRow {
  /** End of the answer, milliseconds since 1970. */
  readonly at_ms: number
  readonly frontend: string
  /** Empty if none was chosen; the same for the server. */
  readonly backend: string
  readonly server: string
  readonly source: string
  readonly sourcePort: number
  readonly method: string
  readonly version: string
  readonly host: string
  /** Includes the query. */
  readonly path: string
  readonly status: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly request_ms: number
  readonly queue_ms: number
  readonly connect_ms: number
  readonly response_ms: number
  readonly total_ms: number
  /** Termination state, in HAProxy's four letters. */
  readonly state: string
  /** The headers that the frontend logs, as JSON. */
  readonly headers: string
}

export type Column = keyof LogRow
export type TextColumn = { [C in Column]: LogRow[C] extends string ? C : never }[Column]
export type NumberColumn = Exclude<Column, TextColumn>

export const TEXTS: readonly TextColumn[] = [
  'frontend',
  'backend',
  'server',
  'source',
  'method',
  'version',
  'host',
  'path',
  'state',
  'headers',
]
export const NUMBERS: readonly NumberColumn[] = [
  'at_ms',
  'sourcePort',
  'status',
  'bytesIn',
  'bytesOut',
  'request_ms',
  'queue_ms',
  'connect_ms',
  'response_ms',
  'total_ms',
]

/** Sound: the log thread writes an object of strings. */
export const headersIn = ({ headers }: Pick<LogRow, 'headers'>) =>
  JSON.parse(headers) as Readonly<Record<string, string>>

/** A row with its place: the segment that holds it, and its index there. */
export interface PlacedRow {
  readonly segment: number
  readonly index: number
  readonly row: LogRow
}
