import type { Stream } from './rendered.ts'

/** A search of access logs; every given field must match. */
export interface LogQuery {
  readonly frontendId?: string | undefined
  /** Unix seconds; the end is exclusive. */
  readonly start?: number | undefined
  readonly end?: number | undefined
  /** `404`, `5xx` or `500-503`. */
  readonly status?: string | undefined
  readonly path?: string | undefined
  readonly source?: string | undefined
  readonly server?: string | undefined
  /** Milliseconds. */
  readonly slowerThan?: number | undefined
}

export interface LogLine {
  readonly id: string
  /** ISO 8601: when the answer had ended. */
  readonly time: string
  readonly [field: string]: unknown
}

/** Lines that the daemon has read but not stored. */
export interface LogLosses {
  readonly lost: number
  readonly unreadable: number
  readonly unstored: number
  readonly unforwarded: number
  readonly uncertain: number
}

export interface LogPage {
  /** Newest first. */
  readonly lines: readonly LogLine[]
  /** Position of the next page; undefined on the last one. */
  readonly next: string | undefined
  readonly losses: LogLosses
}

export interface LogTop {
  readonly lines: number
  readonly paths: readonly { readonly path: string; readonly count: number }[]
  readonly sources: readonly { readonly source: string; readonly count: number }[]
  readonly status: readonly { readonly status: number; readonly count: number }[]
  readonly slowest: readonly LogLine[]
}

export interface AccessLogsReader {
  /** Refuses an `after` that no earlier page returned. */
  search(query: LogQuery & { readonly limit: number; readonly after?: string | undefined }): Promise<LogPage>
  top(query: LogQuery & { readonly limit: number }): Promise<LogTop>
  /** Follows the lines that are stored from now on. */
  stream(query: LogQuery): Stream
}
