import type { Unnumbered } from '../../storage/audit/audit-log.ts'
import type { WentLive } from '../context/applying.ts'
import type { Actor, CameIn } from '../context/actor.ts'
import { auditedBody } from './audited-body.ts'
import { isOfToken, TOKEN_SESSION } from '../auth/api-tokens.ts'
import { shownChange } from '../config/shown-change.ts'
import { API_PREFIX } from '../http/pipeline.ts'
import type { AuditedRequest, AuditOutcome } from '../http/audited.ts'
import type { RecordChange } from '../model/sections.ts'

const CHANGES_MAX = 100
const CHANGE_LENGTH_MAX = 16 * 1024
const TEXT_MAX = 320
/** Maximum length of all changes of one entry. */
const ENTRY_LENGTH_MAX = 48 * 1024

export type Entry = Unnumbered & { readonly endpoint: string }

/** Returns the entry for a request and its outcome; texts are truncated, and secrets removed. */
export function auditEntry(request: AuditedRequest, outcome: AuditOutcome, at: string): Entry {
  const { endpoint, actor, address, requestId, method, path, query, cameIn, forwardedBy, forwardedTo } = request
  return {
    at,
    requestId,
    by: nameOf(request),
    ...(cameIn === undefined ? {} : openedBy(cameIn)),
    ...tokenOf(actor),
    address,
    endpoint: endpoint.name,
    method,
    path: path.slice(0, TEXT_MAX),
    // A query that failed validation may contain a secret, and one of a login does.
    ...(query === '' || endpoint.access === 'public' || (outcome.status ?? 0) >= 400
      ? {}
      : { query: query.slice(0, TEXT_MAX) }),
    ...(forwardedBy === undefined ? {} : { forwardedBy }),
    ...(forwardedTo === undefined ? {} : { forwardedTo }),
    ...cameOf(outcome),
    ...detailOf(request),
  }
}

/** Returns the entry for an apply that the daemon took back: without a request and an address. */
export function takenBackEntry(live: WentLive, at: string): Entry {
  const asked = { endpoint: 'services.revertApply', method: 'PUT', path: `${API_PREFIX}/services/apply/revert` }
  return { at, requestId: '', by: 'fulcrum', address: '', ...asked, outcome: 'done', status: 200, ...liveOf(live) }
}

function detailOf({ endpoint, body, isBegun, changes = [], wentLive }: AuditedRequest): object {
  if (endpoint.effect === 'act' || endpoint.effect === 'apply') {
    const audited = isBegun === true ? undefined : auditedBody(body)
    return { ...(audited === undefined ? {} : { body: audited }), ...liveOf(wentLive) }
  }
  if (changes.length === 0) return {}
  const told: object[] = []
  let length = 0
  for (const change of changes.slice(0, CHANGES_MAX)) {
    const one = bounded(change)
    length += JSON.stringify(one).length
    if (length > ENTRY_LENGTH_MAX) break
    told.push(one)
  }
  const more = changes.length - told.length
  return { changes: told, ...(more > 0 ? { moreChanges: more } : {}) }
}

function liveOf(live: AuditedRequest['wentLive']): object {
  if (live === undefined) return {}
  const { revision, told, more } = live
  return { revision, live: told, ...(more > 0 ? { moreLive: more } : {}) }
}

/** Returns the name for the entry: for a login, that of the user, or the name that was tried. */
export function nameOf({ endpoint, actor, body, cameIn }: AuditedRequest): string {
  return cameIn?.name ?? (endpoint.access === 'public' ? emailIn(body) : actor.email)
}

/** Marks entries of programs: they are not the person whose token they use. */
function tokenOf({ sessionId }: Actor): object {
  return isOfToken(sessionId) ? { token: sessionId.slice(TOKEN_SESSION.length) } : {}
}

function openedBy({ via, ended }: CameIn): object {
  return { via, ...(ended.length === 0 ? {} : { endedSessions: ended }) }
}

function cameOf({ status, code }: AuditOutcome): object {
  if (status === undefined) return { outcome: 'begun' }
  return { outcome: status < 400 ? 'done' : 'refused', status, ...(code === undefined ? {} : { code }) }
}

function bounded(change: RecordChange): object {
  const { before, after, ...what } = shownChange(change)
  const length = JSON.stringify([before, after]).length
  return length > CHANGE_LENGTH_MAX
    ? { ...what, leftOut: `${length} characters of before and after` }
    : { ...what, before, after }
}

function emailIn(body: unknown): string {
  const email: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'email') : undefined
  return typeof email === 'string' ? email.slice(0, TEXT_MAX) : ''
}
