import type { Readable } from 'node:stream'
import type { Endpoint } from '../api/endpoint.ts'
import { LOCAL_ROOT } from '../auth/local-root.ts'
import type { CarriedWho } from '../peers/who.ts'

export const HAS_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'DELETE'])

/** A request behind the socket. `header` answers '' for an absent header and is valid only until `handle` returns. */
export interface Incoming {
  /** Upper case. */
  readonly method: string
  /** As sent, without the query. */
  readonly path: string
  readonly query: string
  readonly address: string
  header(lowerCaseName: string): string
  /** Framing headers that can be read in two ways; asked for requests with a body only. */
  readonly isAmbiguous: boolean
  /** undefined: larger than the limit. */
  readBody(bytes_max: number): Promise<Uint8Array | undefined>
  /** The caller at the node that has forwarded this; absent in a client's own request. */
  readonly carried?: CarriedWho
  /** It came by the daemon's own socket. */
  readonly isLocal?: boolean
  /** The answer may be kept, and until the moment that this tells (Unix time in ms) that this caller may ask for it. */
  letKeep?(untilOf: () => number): void
  /** Aborted when the client goes away before it has its answer. Behind a socket only, as is the next one. */
  readonly signal?: AbortSignal
  /** Instead of `readBody`: as it comes. Fails when the client goes away, is too slow, or sends more than that. */
  streamBody?(bytes_max: number): Readable
}

/** The headers that are needed after the first wait, when uWebSockets.js has taken the request back. */
export function keepHeaders(incoming: Incoming, more: readonly string[] = []): Incoming {
  const names = ['accept', 'if-match', 'if-none-match', 'x-transaction-id', ...more]
  const kept = new Map(names.map((name) => [name, incoming.header(name)]))
  return {
    method: incoming.method,
    path: incoming.path,
    query: incoming.query,
    address: incoming.address,
    header: (name) => kept.get(name) ?? '',
    isAmbiguous: false,
    readBody: () => Promise.reject(new Error('the body was read already')),
  }
}

const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({})

/** The headers that the endpoint names. */
export function headersFor({ headers }: Endpoint, incoming: Incoming): Readonly<Record<string, string>> {
  if (headers.length === 0) return NO_HEADERS
  return Object.fromEntries(headers.map((name) => [name, incoming.header(name)]))
}

/** What `Authorization: Bearer` holds; undefined without it. */
function tokenOf(incoming: Pick<Incoming, 'header'>): string | undefined {
  const header = incoming.header('authorization')
  return header.startsWith('Bearer ') || /^bearer /i.test(header) ? header.slice('bearer '.length) : undefined
}

/**
 * What identifies the caller: a token, the word of the node that was asked, or that the system let it open the own
 * socket.
 */
export const proofOf = (incoming: Pick<Incoming, 'header' | 'carried' | 'isLocal'>): string | CarriedWho | undefined =>
  incoming.carried ?? tokenOf(incoming) ?? (incoming.isLocal === true ? LOCAL_ROOT : undefined)
