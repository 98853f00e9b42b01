import { ERRORS, type ErrorCode } from '../base/errors.ts'
import type { Effect } from '../context/context.ts'
import type { Endpoint } from './endpoint.ts'
import { followsTransaction } from './in-transactions.ts'

/**
 * Refusals of every request: an unclear or unknown part of it, a defect, a node that is restarting, or another node
 * that is away.
 */
const ALWAYS: readonly ErrorCode[] = [
  'MALFORMED_REQUEST',
  'INVALID_QUERY',
  'METHOD_NOT_ALLOWED',
  'INTERNAL',
  'NODE_UNREACHABLE',
]
/**
 * Refusals of endpoints with known callers. The transaction that a request names may not exist; expensive or long
 * requests are limited in number.
 */
const KNOWN: readonly ErrorCode[] = [
  'UNAUTHENTICATED',
  'TOKEN_EXPIRED',
  'PERMISSION_DENIED',
  'NOT_FOUND',
  'TOO_MANY_AT_ONCE',
]
/** For requests with a body. If-Match is compared, or refused if nothing can be compared with it. */
const SENT: readonly ErrorCode[] = ['REVISION_MISMATCH', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'INVALID_BODY']

const STAGED: readonly ErrorCode[] = ['NOT_SUPPORTED', 'APPLY_IN_PROGRESS']
const OF_EFFECT: Readonly<Record<Effect, readonly ErrorCode[]>> = {
  read: [],
  stage: STAGED,
  act: [],
  'stage-and-act': STAGED,
  apply: ['APPLY_IN_PROGRESS', 'CONFIG_INVALID', 'APPLY_PARTIAL', 'NOT_SUPPORTED'],
}
const OF_RECORDS: ReadonlySet<Effect> = new Set(['read', 'stage', 'stage-and-act'])
/** Refusals of editing a record. */
const OF_EDIT: Readonly<Record<Endpoint['method'], readonly ErrorCode[]>> = {
  GET: [],
  POST: ['NAME_NOT_UNIQUE', 'ID_NOT_UNIQUE'],
  PUT: ['NAME_NOT_UNIQUE'],
  DELETE: ['IN_USE'],
}

/**
 * Returns every code that a request to the endpoint can be refused with: those that follow from its definition, and
 * those it names.
 */
export function refusalCodes(endpoint: Endpoint): readonly ErrorCode[] {
  const { method, path, access, effect, body } = endpoint
  const isKnown = access !== 'public'
  const codes = new Set<ErrorCode>([
    ...ALWAYS,
    ...(isKnown ? KNOWN : []),
    ...(path.includes('{') ? (['NOT_FOUND'] as const) : []),
    ...ofOtherNodes(endpoint),
    ...(endpoint.ofNodes === undefined ? [] : (['NOT_FOUND'] as const)),
    ...(method === 'GET' ? [] : [...SENT, 'NO_QUORUM' as const]),
    ...OF_EFFECT[effect],
    ...(effect.startsWith('stage') && (method === 'DELETE' || body !== undefined) ? OF_EDIT[method] : []),
    ...(endpoint.outsideTransactions ? (['TRANSACTION_OPEN'] as const) : []),
    ...(endpoint.managedOnly ? (['NOT_SUPPORTED'] as const) : []),
    ...endpoint.refuses,
  ])
  return Object.keys(ERRORS).filter((code): code is ErrorCode => codes.has(code as ErrorCode))
}

/** Returns the refusal for records of one node inside a transaction that another node holds. */
function ofOtherNodes(endpoint: Endpoint): readonly ErrorCode[] {
  const { path, access, effect, answeredByAny, transactionIn } = endpoint
  if (transactionIn !== undefined || followsTransaction(endpoint)) return []
  if (answeredByAny !== undefined || !/\{applianceI[dD]\}/.test(path)) return []
  return access === 'granted' && OF_RECORDS.has(effect) ? ['TRANSACTION_OPEN'] : []
}
