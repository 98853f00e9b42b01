import type { WentLive } from '../context/applying.ts'
import type { Actor, CameIn } from '../context/actor.ts'
import type { Endpoint } from '../api/endpoint.ts'
import type { RecordChange } from '../model/sections.ts'
import type { Log } from '../base/log.ts'
import type { Asked } from './admission.ts'
import type { Answer } from './envelope.ts'

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
  /** The user that this request logged in, and how. */
  readonly cameIn?: CameIn | undefined
  /** Changes of the candidate. */
  readonly changes?: readonly RecordChange[] | undefined
  /** What an apply made live. */
  readonly wentLive?: WentLive | undefined
  /** The node that answered it; it tells the rest in its own audit log. */
  readonly forwardedTo?: string
  /** The node that was asked, and has forwarded it. */
  readonly forwardedBy?: string | undefined
}

export interface AuditOutcome {
  /** Undefined: it is about to act. */
  readonly status?: number
  readonly code?: string | undefined
}

export interface AuditTrail {
  /**
   * Throws when the disk is so full that an entry could be lost after the deed; a request that removes something makes
   * room, and is let in longer.
   */
  assertRoom(endpoint: Endpoint): void
  /** Refuses a caller that has filled so much of the log that there would be no room for others. */
  assertShare(request: AuditedRequest): void
  /**
   * Resolves when the entry is on the disk, or when it is counted in another one; with whether it has an entry of its
   * own.
   */
  record(request: AuditedRequest, outcome: AuditOutcome): Promise<boolean>
}

/** What is told of a request, while its headers can be read. */
export function noteOf({ route, incoming, actor, requestId }: Omit<Asked, 'params'>): AuditedRequest {
  const { method, path, query, address, carried } = incoming
  return { requestId, endpoint: route.endpoint, actor, address, method, path, query, forwardedBy: carried?.via }
}

/** The answer, once the disk holds what came of the request. */
export async function noted(
  { audit, log }: { readonly audit: AuditTrail; readonly log: Log },
  request: AuditedRequest,
  answer: Answer,
): Promise<Answer> {
  try {
    await audit.record(request, { status: answer.status, code: answer.code })
  } catch (error) {
    // What was done is done: to say that it was not would be worse.
    log.error('an audit entry was lost', { requestId: request.requestId, reason: String(error) })
  }
  return answer
}

/** What a request did, as far as the audit log tells it. */
export type Deeds = Pick<AuditedRequest, 'changes' | 'cameIn' | 'wentLive'>

export function toldBy(work: Deeds | undefined): Deeds {
  if (work === undefined) return {}
  const { changes, cameIn, wentLive } = work
  return { changes, cameIn, wentLive }
}

/** Public endpoints by which somebody comes in. */
const LOGINS: ReadonlySet<string> = new Set(['auth.login', 'saml.acs', 'saml.token', 'oidc.callback', 'oidc.token'])

/** Every attempt to change something or to see a secret, and every login. */
export function isAudited({ access, method, name, reveals }: Endpoint): boolean {
  if (access === 'public') return LOGINS.has(name)
  return method !== 'GET' || reveals
}

/** What cannot be undone by discarding it is noted before it begins, so that a crash in the middle leaves a trace. */
export const isNotedBefore = (endpoint: Endpoint): boolean =>
  isAudited(endpoint) && endpoint.access !== 'public' && ['act', 'stage-and-act', 'apply'].includes(endpoint.effect)
