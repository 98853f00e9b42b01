import type { Actor } from '../api/context.ts'
import type { Endpoint } from '../api/endpoint.ts'
import type { RecordChange } from '../model/sections.ts'
import type { Asked } from './admission.ts'

/** A request as the audit log takes note of it. */
export interface AuditedRequest {
  readonly requestId: string
  readonly endpoint: Endpoint
  readonly actor: Actor
  readonly address: string
  readonly method: string
  readonly path: string
  readonly query: string
  /** As it was found valid; undefined before. */
  readonly body?: unknown
  /** An entry from before it began holds the body. */
  readonly isBegun?: boolean
  /** Who came in by this request, and how. */
  readonly cameIn?: CameIn | undefined
  /** Of the candidate. */
  readonly changes?: readonly RecordChange[]
}

/** Somebody who logged in. */
export interface CameIn {
  readonly name: string
  readonly via: 'password' | 'radius' | 'saml'
  /** Ids of sessions that made room. */
  readonly ended: readonly string[]
}

export interface AuditOutcome {
  /** Undefined: it is about to act. */
  readonly status?: number
  readonly code?: string | undefined
}

export interface AuditTrail {
  /** Throws when the disk is so full that an entry could be lost after the deed; who removes something makes room, and is let in longer. */
  assertRoom(endpoint: Endpoint): void
  /** Refuses who has filled so much of the log that there would be no room for others. */
  assertShare(request: AuditedRequest): void
  /** Resolves when the entry is on the disk, or when it is counted in another one; with whether it has an entry of its own. */
  record(request: AuditedRequest, outcome: AuditOutcome): Promise<boolean>
}

/** What is told of a request, while its headers can be read. */
export function noteOf({ route, incoming, actor, requestId }: Omit<Asked, 'params'>): AuditedRequest {
  const { method, path, query, address } = incoming
  return { requestId, endpoint: route.endpoint, actor, address, method, path, query }
}

/** Public endpoints by which somebody comes in. */
const LOGINS: ReadonlySet<string> = new Set(['auth.login', 'saml.acs', 'saml.token'])

/** Every attempt to change something or to see a secret, and every login. */
export function isAudited({ access, method, name, reveals }: Endpoint): boolean {
  if (access === 'public') return LOGINS.has(name)
  return method !== 'GET' || reveals
}

/** What cannot be undone by discarding it is noted before it begins, so that a crash in the middle leaves a trace. */
export const isNotedBefore = (endpoint: Endpoint): boolean =>
  isAudited(endpoint) && endpoint.access !== 'public' && ['act', 'stage-and-act', 'apply'].includes(endpoint.effect)
