import type { Stream } from './rendered.ts'

/** What a search of access logs looks for; every field that is given must fit. */
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

/** Lines that were not kept since the daemon has read them. */
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
  /** Begins the next page; undefined on the last one. */
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
  /** Refuses an `after` that it did not answer. */
  search(query: LogQuery & { readonly limit: number; readonly after?: string | undefined }): Promise<LogPage>
  top(query: LogQuery & { readonly limit: number }): Promise<LogTop>
  /** What is kept from now on. */
  stream(query: LogQuery): Stream
}
