import type { Actor } from '../context/actor.ts'
import { endpointId } from '../api/access.ts'
import type { Endpoint } from '../api/endpoint.ts'
import type { Rights } from '../auth/permissions.ts'
import { ApiError } from '../base/errors.ts'
import type { CarriedWho } from '../peers/who.ts'
import { type Incoming, proofOf } from './incoming.ts'
import type { Route } from './router.ts'

/** The proof of a caller's identity: a token, or the word of another node or of the daemon's own socket. */
export type Proof = string | CarriedWho

/** Returns the rights that a proof stands for, or the refusal. */
export type Authenticate = (proof: Proof) => { readonly rights: Rights; readonly sessionId: string } | ApiError

export interface Who {
  readonly actor: Actor
  /** Undefined for endpoints that need no rights. */
  readonly rights: Rights | undefined
}

/** A request whose endpoint was found. */
export interface Asked {
  readonly route: Route
  readonly incoming: Incoming
  readonly actor: Actor
  readonly params: Readonly<Record<string, string>>
  readonly requestId: string
  /** For a request with a body: refuses a caller that has lost the right meanwhile. */
  readonly askAgain?: () => void
}

export const NOBODY: Actor = { userId: '', email: '', sessionId: '' }

/** Identifies the caller, and refuses one without a valid token. */
export function admit(endpoint: Endpoint, incoming: Incoming, authenticate: Authenticate): Who {
  if (endpoint.access === 'public') return { actor: NOBODY, rights: undefined }
  const proof = proofOf(incoming)
  if (proof === undefined) {
    throw new ApiError('UNAUTHENTICATED', 'Send the header Authorization: Bearer with the token of POST /token')
  }
  const who = authenticate(proof)
  if (who instanceof ApiError) throw who
  const { rights, sessionId } = who
  return { actor: { userId: rights.userId, email: rights.email, sessionId }, rights }
}

/**
 * Whether the caller may use the endpoint. Programs and local root have no account of their own: they may use what is
 * granted to them, and nothing else.
 */
export const mayAsk = ({ endpoint, index }: Route, { rights }: { readonly rights: Rights | undefined }): boolean =>
  endpoint.access === 'granted'
    ? // Granted for all records or some: the code that edits records checks which.
      (rights?.granted[index] ?? 0) !== 0
    : endpoint.access === 'public' || !rights?.isProgram || endpoint.ofAnyCaller

/**
 * Returns whether the caller is known at all, whatever its rights, or has logged in on another node, which this node
 * may learn a moment later.
 */
export function isSomebody(
  incoming: Incoming,
  { authenticate, isIssued }: { readonly authenticate: Authenticate; readonly isIssued: (proof: Proof) => boolean },
): boolean {
  const proof = proofOf(incoming)
  return proof !== undefined && (!(authenticate(proof) instanceof ApiError) || isIssued(proof))
}

export function refuseDenied(route: Route, who: { readonly rights: Rights | undefined }): void {
  if (!mayAsk(route, who)) throw new ApiError('PERMISSION_DENIED', explainDenial(route.endpoint, who.rights))
}

/** Refuses a caller that was admitted earlier if its session has ended or its right was taken away meanwhile. */
export function admitAgain({ route, incoming }: Asked, authenticate: Authenticate): () => void {
  const proof = route.endpoint.access === 'public' ? undefined : proofOf(incoming)
  return () => {
    if (proof === undefined) return
    const who = authenticate(proof)
    if (who instanceof ApiError) throw who
    refuseDenied(route, who)
  }
}

/** For answers without an end: returns a function that checks whether the caller may still have the answer. */
export function stillAllowed({ route, incoming }: Asked, authenticate: Authenticate): () => boolean {
  const proof = proofOf(incoming) ?? ''
  return () => {
    const who = authenticate(proof)
    return !(who instanceof ApiError) && mayAsk(route, who)
  }
}

export function explainDenial(endpoint: Endpoint, rights?: Pick<Rights, 'mustEnrol' | 'endpoints'>): string {
  const asked = `${endpoint.method} ${endpoint.path}`
  if (endpoint.access !== 'granted') return `${asked} is for users who logged in, not for API tokens or local root`
  if (rights?.mustEnrol)
    return 'Set up a second factor first, POST /localUsers/me/2fa: until then nothing else is granted'
  if (rights?.endpoints?.includes(endpointId(endpoint)) === false) return `This API token does not grant ${asked}`
  return `None of your roles grants ${asked}`
}
