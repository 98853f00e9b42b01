import type { Actor } from '../api/context.ts'
import type { Endpoint } from '../api/endpoint.ts'
import type { Rights } from '../auth/permissions.ts'
import { ApiError } from '../errors.ts'
import { type Incoming, tokenOf } from './incoming.ts'
import type { Route } from './router.ts'

/** Who holds this token: rights, or the refusal. */
export type Authenticate = (token: string) => { readonly rights: Rights; readonly sessionId: string } | ApiError

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
}

export const NOBODY: Actor = { userId: '', email: '', sessionId: '' }

/** Who calls; refuses whom nobody knows. */
export function admitted(endpoint: Endpoint, incoming: Incoming, authenticate: Authenticate): Who {
  if (endpoint.access === 'public') return { actor: NOBODY, rights: undefined }
  const token = tokenOf(incoming)
  if (token === undefined) {
    throw new ApiError('UNAUTHENTICATED', 'Send the header Authorization: Bearer with the token of POST /token')
  }
  const who = authenticate(token)
  if (who instanceof ApiError) throw who
  const { rights, sessionId } = who
  return { actor: { userId: rights.userId, email: rights.email, sessionId }, rights }
}

/** A program has no account of its own to look after: with a token it does what was granted to it, and nothing else. */
export const mayAsk = ({ endpoint, index }: Route, { rights }: { readonly rights: Rights | undefined }): boolean =>
  endpoint.access === 'granted' ? rights?.granted[index] === 1 : endpoint.access === 'public' || !rights?.isProgram

export function denied({ method, path, access }: Endpoint): string {
  return access === 'granted'
    ? `None of your roles grants ${method} ${path}`
    : `${method} ${path} is for who logged in, not for API tokens`
}
