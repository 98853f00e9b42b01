import type { WentLive } from '../context/applying.ts'
import type { Actor, CameIn } from '../context/actor.ts'
import type { Endpoint } from '../api/endpoint.ts'
import type { RecordChange } from '../model/sections.ts'
import type { Log } from '../base/log.ts'
import type { Asked } from './admission.ts'
import type { Answer } from './envelope.ts'

/** A request as the audit log records it. */
export interface AuditedRequest {
  readonly requestId: string
  readonly endpoint: Endpoint
  readonly actor: Actor
  readonly address: string
  readonly method: string
  readonly path: string
  readonly query: string
  /** The valid body; undefined before validation. */
  readonly body?: unknown
  /** Whether an earlier entry, written before the request began to act, holds the body. */
  readonly isBegun?: boolean
  /** The user that this request logged in, and how. */
  readonly cameIn?: CameIn | undefined
  /** Changes to the candidate. */
  readonly changes?: readonly RecordChange[] | undefined
  /** The records that an apply made live. */
  readonly wentLive?: WentLive | undefined
  /** The node that answered the request; its own audit log has the details. */
  readonly forwardedTo?: string
  /** The node that received the request and forwarded it. */
  readonly forwardedBy?: string | undefined
}

export interface AuditOutcome {
  /** Undefined if the request is about to act. */
  readonly status?: number
  readonly code?: string | undefined
}

export interface AuditTrail {
  /**
   * Throws if the disk is so full that the entry could be lost after the deed. Requests that remove something free
   * space, and are admitted for longer.
   */
  assertRoom(endpoint: Endpoint): void
  /** Refuses a caller that has filled so much of the log that it would leave no room for others. */
  assertShare(request: AuditedRequest): void
  /** Resolves when the entry is on the disk or is counted in another one; with whether it has an entry of its own. */
  record(request: AuditedRequest, outcome: AuditOutcome): Promise<boolean>
}

/** Notes the parts of a request for the audit log, while its headers can be read. */
export function noteOf({ route, incoming, actor, requestId }: Omit<Asked, 'params'>): AuditedRequest {
  const { method, path, query, address, carried } = incoming
  return { requestId, endpoint: route.endpoint, actor, address, method, path, query, forwardedBy: carried?.via }
}

/** Resolves with the answer once its outcome is on the disk. */
export async function noted(
  { audit, log }: { readonly audit: AuditTrail; readonly log: Log },
  request: AuditedRequest,
  answer: Answer,
): Promise<Answer> {
  try {
    await audit.record(request, { status: answer.status, code: answer.code })
  } catch (error) {
    // The deed is done: an answer that denies it would be worse.
    log.error('an audit entry was lost', { requestId: request.requestId, reason: String(error) })
  }
  return answer
}

/** What a request did, as far as the audit log reports it. */
export type Deeds = Pick<AuditedRequest, 'changes' | 'cameIn' | 'wentLive'>

export function toldBy(work: Deeds | undefined): Deeds {
  if (work === undefined) return {}
  const { changes, cameIn, wentLive } = work
  return { changes, cameIn, wentLive }
}

/** Public endpoints that log a user in. */
const LOGINS: ReadonlySet<string> = new Set(['auth.login', 'saml.acs', 'saml.token', 'oidc.callback', 'oidc.token'])

/**
 * Returns whether the audit log has an entry for its requests: every attempt to change something or to see a secret,
 * and every login.
 */
export function isAudited({ access, method, name, reveals }: Endpoint): boolean {
  if (access === 'public') return LOGINS.has(name)
  return method !== 'GET' || reveals
}

/** Effects that discarding cannot undo are noted before they begin, so that a crash in the middle leaves a trace. */
export const isNotedBefore = (endpoint: Endpoint): boolean =>
  isAudited(endpoint) && endpoint.access !== 'public' && ['act', 'stage-and-act', 'apply'].includes(endpoint.effect)
