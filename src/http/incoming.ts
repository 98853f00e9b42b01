import type { Readable } from 'node:stream'
import type { Endpoint } from '../api/endpoint.ts'
import { LOCAL_ROOT } from '../auth/local-root.ts'
import type { CarriedWho } from '../peers/who.ts'

export const HAS_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'DELETE'])

/**
 * A request, independent of its socket. `header` returns '' for an absent header and is valid only until `handle`
 * returns.
 */
export interface Incoming {
  /** Upper case. */
  readonly method: string
  /** As sent, without the query string. */
  readonly path: string
  readonly query: string
  readonly address: string
  header(lowerCaseName: string): string
  /** Whether the framing headers can be read in two ways; checked for requests with a body only. */
  readonly isAmbiguous: boolean
  /** Resolves with undefined if the body is larger than the limit. */
  readBody(bytes_max: number): Promise<Uint8Array | undefined>
  /** The identity of the caller as the forwarding node knows it; absent in a client's own request. */
  readonly carried?: CarriedWho
  /** Whether it came through the daemon's own socket. */
  readonly isLocal?: boolean
  /** Allows keeping the answer. `untilOf` returns until when (Unix time in ms) this caller has access. */
  letKeep?(untilOf: () => number): void
  /** Aborted if the client leaves before it has its answer. Present only with a socket, as is the next field. */
  readonly signal?: AbortSignal
  /** Streams the body, instead of `readBody`. Fails if the client leaves, is too slow, or sends more than the limit. */
  streamBody?(bytes_max: number): Readable
}

/** Copies the headers that are needed after the first wait, when uWebSockets.js has taken the request back. */
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
    readBody: () => Promise.reject(new Error('the body has already been read')),
  }
}

const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({})

/** Returns the headers that the endpoint names. */
export function headersFor({ headers }: Endpoint, incoming: Incoming): Readonly<Record<string, string>> {
  if (headers.length === 0) return NO_HEADERS
  return Object.fromEntries(headers.map((name) => [name, incoming.header(name)]))
}

/** Returns the token of `Authorization: Bearer`; undefined without one. */
function tokenOf(incoming: Pick<Incoming, 'header'>): string | undefined {
  const header = incoming.header('authorization')
  return header.startsWith('Bearer ') || /^bearer /i.test(header) ? header.slice('bearer '.length) : undefined
}

/**
 * Returns the proof of the caller's identity: a token, the word of the forwarding node, or access to the daemon's own
 * socket.
 */
export const proofOf = (incoming: Pick<Incoming, 'header' | 'carried' | 'isLocal'>): string | CarriedWho | undefined =>
  incoming.carried ?? tokenOf(incoming) ?? (incoming.isLocal === true ? LOCAL_ROOT : undefined)
