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
}

/** The headers that are needed after the first wait, when uWebSockets.js has taken the request back. */
export function keepHeaders(incoming: Incoming): Incoming {
  const kept = new Map(
    ['accept', 'if-match', 'if-none-match', 'x-transaction-id'].map((name) => [name, incoming.header(name)]),
  )
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
