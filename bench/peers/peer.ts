import type { Totals } from './data-set.ts'
import type { Query } from './windows.ts'

export interface Rate {
  readonly perSecond: number
  readonly p50_ms: number
  readonly p99_ms: number
}

export interface Footprint {
  /** How the samples came in, and what that wrote; NaN when it cannot be told apart. */
  readonly loadedBy: string
  readonly written_bytes: number
  readonly kept_bytes: number
}

/** A tool that holds the data set. Every method but `load` needs a loaded one. */
export interface Peer {
  readonly name: string
  /** What a query is, in a few words. */
  readonly asks: string
  /** Gives the tool every sample and readies it for queries. */
  load(): Promise<Footprint>
  /** One query, its answer taken apart. Throws when it is refused. */
  ask(query: Query): Promise<Totals>
  /** The same queries again and again for some seconds, by so many clients at once; a pipe has one. */
  measure(queries: readonly Query[], seconds: number, clients: number): Promise<Rate>
  /** Ends the tool and starts it again; resolves with the milliseconds from the start to the first right answer. */
  restart(isRight: (peer: Peer) => Promise<void>): Promise<number>
  stop(): Promise<void>
}
