/** The protocol between the programs in networks of the fault test and the test itself: one JSON object per line. */

/** The floating IPs; the last one belongs to the second node, as long as it can have it. */
export const FLOATING = ['10.78.0.100', 'fd78::100', '10.78.0.101'] as const
export type Floating = (typeof FLOATING)[number]

/** First argument of `observer.ts`. */
export interface ObserverSettings {
  /** Name of the node, for people; names of its records begin with it. */
  readonly name: string
  readonly seed: number
  readonly email: string
  readonly password: string
}

/** The intended state of a record; without a port it is deleted. */
export interface Edit {
  readonly name: string
  readonly port?: number
}

export type Outcome = 'answered' | 'refused' | 'unknown'

/** A node's report of itself and the others. */
export interface Health {
  readonly quorum: boolean
  readonly halted: string | null
  readonly nodes: readonly { readonly name: string; readonly isWell: boolean; readonly isReady: boolean }[]
}

export type ObserverLine =
  /** The floating IPs that the network of the node has from now on. */
  | { readonly did: 'hold'; readonly held: readonly string[]; readonly at_us: number }
  | { readonly did: 'begin'; readonly edit: Edit }
  | { readonly did: 'end'; readonly edit: Edit; readonly outcome: Outcome; readonly why: string; readonly ms: number }
  | { readonly did: 'apply'; readonly outcome: Outcome; readonly why: string }
  | { readonly did: 'rest' }
  | { readonly did: 'health'; readonly health: Health | null }
  | { readonly did: 'show'; readonly records: readonly Edit[] | null; readonly pending: number }

/** Commands to an observer: report the health of the node, stop editing, report its records, apply. */
export type ObserverCommand = 'health' | 'rest' | 'show' | 'apply'

/** Of the client: no answer at an address for longer than usual. */
export interface Gap {
  readonly ip: Floating
  readonly from_us: number
  readonly to_us: number
  /** The nodes that answered before and after the gap. */
  readonly before: string
  readonly after: string
}

export type ClientLine =
  | { readonly did: 'begun' }
  | ({ readonly did: 'gap' } & Gap)
  /** The last answers at each address; sent on request. */
  | { readonly did: 'count'; readonly answers: number; readonly failed: number; readonly last_us: readonly number[] }

/** Time of the machine's monotonic clock, which all its processes share. */
export const now_us = (): number => Number(process.hrtime.bigint() / 1000n)
