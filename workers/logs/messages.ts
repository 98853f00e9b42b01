import type { Filter } from '../../storage/logs/filter.ts'
import type { PlacedRow } from '../../storage/logs/row.ts'
import type { Cursor } from '../../storage/logs/search.ts'
import type { LogLimits } from '../../storage/logs/store.ts'
import type { SyslogAddress } from './syslog-connection.ts'
import type { ForwardLosses, ServerState } from './forwarder.ts'
import type { LinesSource } from './haproxy-lines.ts'
import type { NameOf } from '../../storage/logs/shown-fields.ts'

/** The messages between log thread and main thread. */

export interface Forwarding {
  /** Address of the syslog server; undefined if there is none. */
  readonly address: SyslogAddress | undefined
  /** Names of the records that lines refer to, by id. */
  readonly names: { readonly [S in Parameters<NameOf>[0]]: ReadonlyMap<string, string> }
}

export interface LogsOptions {
  readonly directory: string
  readonly limits: LogLimits
  /** undefined: no HAProxy to read, only the stored lines. */
  readonly source: LinesSource | undefined
  readonly forwarding?: Forwarding
}

/** Lines that did not reach their destination since the thread began. */
export interface LogLosses extends ForwardLosses {
  /** Lines that HAProxy wrote and the thread did not receive: the ring was full, or unread for long. */
  readonly lost: number
  /** Lines that could not be parsed. */
  readonly unreadable: number
  /** Lines that the disk did not accept. */
  readonly unstored: number
}

/** Counts of lines since the thread began, and the size of the stored logs. */
export interface LogCounts {
  readonly lines: number
  readonly bytes: number
  readonly losses: LogLosses
}

export interface LogsPage {
  readonly rows: readonly PlacedRow[]
  readonly isMore: boolean
  readonly losses: LogLosses
}

export interface LogsTop {
  readonly paths: readonly (readonly [path: string, count: number])[]
  readonly sources: readonly (readonly [source: string, count: number])[]
  readonly statuses: readonly (readonly [status: number, count: number])[]
  readonly slowest: readonly PlacedRow[]
  readonly rows: number
  readonly losses: LogLosses
}

export type ToLogThread =
  | {
      readonly type: 'search'
      readonly request: number
      readonly filter: Filter
      readonly limit: number
      readonly after: Cursor | undefined
    }
  | { readonly type: 'top'; readonly request: number; readonly filter: Filter; readonly limit: number }
  /** Read the current HAProxy worker; answered when that is established. */
  | { readonly type: 'look'; readonly request: number }
  /** Whether new rows are to be sent. */
  | { readonly type: 'follow'; readonly isWanted: boolean }
  | { readonly type: 'forward'; readonly forwarding: Forwarding }
  | { readonly type: 'stop' }

export type FromLogThread =
  | { readonly type: 'page'; readonly request: number; readonly answer: LogsPage }
  | { readonly type: 'top'; readonly request: number; readonly answer: LogsTop }
  | { readonly type: 'looked'; readonly request: number }
  | { readonly type: 'failed'; readonly request: number; readonly reason: string }
  /** Stored rows, and the number of further stored rows that are not included. */
  | { readonly type: 'rows'; readonly rows: readonly PlacedRow[]; readonly more: number }
  | { readonly type: 'warning'; readonly message: string; readonly detail: string }
  | { readonly type: 'server'; readonly state: ServerState }
  | { readonly type: 'counts'; readonly counts: LogCounts }
