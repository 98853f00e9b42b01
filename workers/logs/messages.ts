import type { Filter } from '../../storage/logs/filter.ts'
import type { PlacedRow } from '../../storage/logs/row.ts'
import type { Cursor } from '../../storage/logs/search.ts'
import type { LogLimits } from '../../storage/logs/store.ts'
import type { SyslogAddress } from './syslog-connection.ts'
import type { ForwardLosses, ServerState } from './forwarder.ts'
import type { LinesSource } from './haproxy-lines.ts'
import type { NameOf } from '../../storage/logs/shown-fields.ts'

/** What the log thread and the main thread say to each other. */

export interface Forwarding {
  /** Address of the syslog server; undefined if there is none. */
  readonly address: SyslogAddress | undefined
  /** Names of the records that lines mention, by id. */
  readonly names: { readonly [S in Parameters<NameOf>[0]]: ReadonlyMap<string, string> }
}

export interface LogsOptions {
  readonly directory: string
  readonly limits: LogLimits
  /** undefined: there is no HAProxy to listen to, only what is kept. */
  readonly source: LinesSource | undefined
  readonly forwarding?: Forwarding
}

/** Lines that did not come to where they should, since the thread began. */
export interface LogLosses extends ForwardLosses {
  /** HAProxy has written them, and they did not come: its ring was full, or nobody read it for long. */
  readonly lost: number
  /** They are not as lines of ours are. */
  readonly unreadable: number
  /** The disk did not take them. */
  readonly unstored: number
}

/** What came of the lines, since the thread began, and the size of what is kept. */
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
  /** Listen to the HAProxy that serves now; answered when that is so. */
  | { readonly type: 'look'; readonly request: number }
  /** Whether new rows are to be told. */
  | { readonly type: 'follow'; readonly isWanted: boolean }
  | { readonly type: 'forward'; readonly forwarding: Forwarding }
  | { readonly type: 'stop' }

export type FromLogThread =
  | { readonly type: 'page'; readonly request: number; readonly answer: LogsPage }
  | { readonly type: 'top'; readonly request: number; readonly answer: LogsTop }
  | { readonly type: 'looked'; readonly request: number }
  | { readonly type: 'failed'; readonly request: number; readonly reason: string }
  /** Stored rows, and how many more were stored that are not among them. */
  | { readonly type: 'rows'; readonly rows: readonly PlacedRow[]; readonly more: number }
  | { readonly type: 'warning'; readonly message: string; readonly detail: string }
  | { readonly type: 'server'; readonly state: ServerState }
  | { readonly type: 'counts'; readonly counts: LogCounts }
