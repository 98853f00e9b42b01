/**
 * The outcome of a request that could not be forwarded. `unreachable`, `refused` and `busy`: none of it was executed.
 * `lost`: it was sent, and whether it was executed is not known; or an answer that had begun broke off. `aborted`: the
 * caller disconnected, or the request ended halfway. `closed`: this node is ending.
 */
export type PeerErrorKind = 'unreachable' | 'lost' | 'refused' | 'busy' | 'aborted' | 'closed'

export interface PeerErrorFacts {
  readonly nodeId?: string
  /** The time when the node was last heard; for one never heard, when it was first tried. */
  readonly since_ms?: number
}

/** The message is for people; for `unreachable` and `lost` it is that of a 503 NODE_UNREACHABLE. */
export class PeerError extends Error {
  override readonly name = 'PeerError'
  readonly kind: PeerErrorKind
  readonly facts: PeerErrorFacts

  constructor(kind: PeerErrorKind, message: string, facts: PeerErrorFacts = {}) {
    super(message)
    this.kind = kind
    this.facts = facts
  }
}

export const closed = (): PeerError => new PeerError('closed', 'This node is shutting down')

const REACHING: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'it refuses connections',
  ECONNRESET: 'it closed the connection',
  ENOTFOUND: 'its name is unknown',
  EAI_AGAIN: 'its name could not be resolved',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
  ETIMEDOUT: 'its machine does not answer',
}
const OF_CERTIFICATES = /^(?:ERR_TLS_CERT|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|INVALID_(?:CA|PURPOSE)|CRL_)/

/** Returns why a connection to a peer failed, as half a sentence about the peer. */
export function whyOf(error: Error & { readonly code?: unknown }): string {
  if (error instanceof PeerError) return error.message
  const code = typeof error.code === 'string' ? error.code : error.name
  if (OF_CERTIFICATES.test(code)) return `its certificate is not accepted (${code})`
  if (code.includes('ALERT')) return `it does not accept this node's certificate (${code})`
  return REACHING[code] ?? `its connection broke (${code})`
}
