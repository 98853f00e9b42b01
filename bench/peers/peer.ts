import type { Totals } from './data-set.ts'
import type { Query } from './windows.ts'

export interface Rate {
  readonly perSecond: number
  readonly p50_ms: number
  readonly p99_ms: number
}

export interface Footprint {
  /** How the samples were loaded, and the bytes that loading wrote; NaN if they cannot be told apart. */
  readonly loadedBy: string
  readonly written_bytes: number
  readonly kept_bytes: number
}

/** A tool that holds the data set. Every method but `load` needs a loaded one. */
export interface Peer {
  readonly name: string
  /** Short description of a query. */
  readonly asks: string
  /** Loads every sample and makes the tool ready for queries. */
  load(): Promise<Footprint>
  /** Sends one query and parses its answer. Throws if the query is refused. */
  ask(query: Query): Promise<Totals>
  /** Repeats the queries for some seconds with this many clients at once; a pipe has one client. */
  measure(queries: readonly Query[], seconds: number, clients: number): Promise<Rate>
  /** Restarts the tool; resolves with the milliseconds from the start to the first right answer. */
  restart(isRight: (peer: Peer) => Promise<void>): Promise<number>
  stop(): Promise<void>
}
