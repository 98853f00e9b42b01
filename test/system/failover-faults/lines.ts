/** What the programs in networks of the fault test and the test itself say to each other, a JSON object a line. */

/** The floating IPs; the last one belongs to the second node, as long as it can have it. */
export const FLOATING = ['10.78.0.100', 'fd78::100', '10.78.0.101'] as const
export type Floating = (typeof FLOATING)[number]

/** First argument of `observer.ts`. */
export interface ObserverSettings {
  /** Of the node, for people; names of what it edits begin with it. */
  readonly name: string
  readonly seed: number
  readonly email: string
  readonly password: string
}

/** What was to become of a record; without a port it goes. */
export interface Edit {
  readonly name: string
  readonly port?: number
}

export type Outcome = 'answered' | 'refused' | 'unknown'

/** What a node says of itself and the others. */
export interface Health {
  readonly quorum: boolean
  readonly halted: string | null
  readonly nodes: readonly { readonly name: string; readonly isWell: boolean; readonly isReady: boolean }[]
}

export type ObserverLine =
  /** Of the floating IPs, which the network of the node has from now on. */
  | { readonly did: 'hold'; readonly held: readonly string[]; readonly at_us: number }
  | { readonly did: 'begin'; readonly edit: Edit }
  | { readonly did: 'end'; readonly edit: Edit; readonly outcome: Outcome; readonly why: string; readonly ms: number }
  | { readonly did: 'apply'; readonly outcome: Outcome; readonly why: string }
  | { readonly did: 'rest' }
  | { readonly did: 'health'; readonly health: Health | null }
  | { readonly did: 'show'; readonly records: readonly Edit[] | null; readonly pending: number }

/** What an observer is told: say how the node is, edit no more, say what it has, apply. */
export type ObserverCommand = 'health' | 'rest' | 'show' | 'apply'

/** Of the client: nobody answered at an address for longer than usual. */
export interface Gap {
  readonly ip: Floating
  readonly from_us: number
  readonly to_us: number
  /** The nodes that answered before and behind it. */
  readonly before: string
  readonly after: string
}

export type ClientLine =
  | { readonly did: 'begun' }
  | ({ readonly did: 'gap' } & Gap)
  /** The last answers at each address; told when it is asked. */
  | { readonly did: 'count'; readonly answers: number; readonly failed: number; readonly last_us: readonly number[] }

/** Of the monotonic clock of the machine, which all its processes have in common. */
export const now_us = (): number => Number(process.hrtime.bigint() / 1000n)
