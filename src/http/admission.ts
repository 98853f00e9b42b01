import type { Actor } from '../context/actor.ts'
import { endpointId } from '../api/access.ts'
import type { Endpoint } from '../api/endpoint.ts'
import type { Rights } from '../auth/permissions.ts'
import { ApiError } from '../base/errors.ts'
import type { CarriedWho } from '../peers/who.ts'
import { type Incoming, proofOf } from './incoming.ts'
import type { Route } from './router.ts'

/** What a caller shows: a token, or what another node or the own socket says of it. */
export type Proof = string | CarriedWho

/** The holder of this token, or of the word of another node: rights, or the refusal. */
export type Authenticate = (proof: Proof) => { readonly rights: Rights; readonly sessionId: string } | ApiError

export interface Who {
  readonly actor: Actor
  /** undefined: nobody needs any. */
  readonly rights: Rights | undefined
}

/** A request that found its endpoint. */
export interface Asked {
  readonly route: Route
  readonly incoming: Incoming
  readonly actor: Actor
  readonly params: Readonly<Record<string, string>>
  readonly requestId: string
  /** For a request with a body: refuses a caller that may not ask for this any more. */
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

/** A program, or local root, has no account here to look after: it does what was granted to it, and nothing else. */
export const mayAsk = ({ endpoint, index }: Route, { rights }: { readonly rights: Rights | undefined }): boolean =>
  endpoint.access === 'granted'
    ? // Wholly or in part: of which records, whoever works on them asks.
      (rights?.granted[index] ?? 0) !== 0
    : endpoint.access === 'public' || !rights?.isProgram || endpoint.ofAnyCaller

/** Whether anybody in particular asks, whatever for. */
export function isSomebody(incoming: Incoming, authenticate: Authenticate): boolean {
  const proof = proofOf(incoming)
  return proof !== undefined && !(authenticate(proof) instanceof ApiError)
}

export function refuseDenied(route: Route, who: { readonly rights: Rights | undefined }): void {
  if (!mayAsk(route, who)) throw new ApiError('PERMISSION_DENIED', explainDenial(route.endpoint, who.rights))
}

/**
 * The refusal of a caller that was admitted earlier: the session may have ended meanwhile, or the right been taken
 * away.
 */
export function admitAgain({ route, incoming }: Asked, authenticate: Authenticate): () => void {
  const proof = route.endpoint.access === 'public' ? undefined : proofOf(incoming)
  return () => {
    if (proof === undefined) return
    const who = authenticate(proof)
    if (who instanceof ApiError) throw who
    refuseDenied(route, who)
  }
}

/** For answers without an end: says, each time that it is called, whether the caller may still have it. */
export function stillAllowed({ route, incoming }: Asked, authenticate: Authenticate): () => boolean {
  const proof = proofOf(incoming) ?? ''
  return () => {
    const who = authenticate(proof)
    return !(who instanceof ApiError) && mayAsk(route, who)
  }
}

export function explainDenial(endpoint: Endpoint, rights?: Pick<Rights, 'mustEnrol' | 'endpoints'>): string {
  const asked = `${endpoint.method} ${endpoint.path}`
  if (endpoint.access !== 'granted') return `${asked} is for people who logged in, not for API tokens or local root`
  if (rights?.mustEnrol) return 'Set up a second factor first, POST /localUsers/me/2fa: until then nothing is granted'
  if (rights?.endpoints?.includes(endpointId(endpoint)) === false) return `This API token is not for ${asked}`
  return `None of your roles grants ${asked}`
}
