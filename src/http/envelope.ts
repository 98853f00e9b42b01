import type { ApiError, ErrorCode } from '../errors.ts'
import type { Rendered } from '../api/reply.ts'

/** An answer ready for the socket. */
export interface Answer {
  readonly status: number
  readonly contentType: string
  readonly body: string | Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

export const JSON_TYPE = 'application/json'
const NO_HEADERS: Readonly<Record<string, string>> = {}
const EMPTY = ''

export function success(
  status: number,
  message: string,
  data: unknown,
  headers: Readonly<Record<string, string>> = NO_HEADERS,
): Answer {
  const body = JSON.stringify(
    data === undefined ? { status: 'success', message } : { status: 'success', message, data },
  )
  return { status, contentType: JSON_TYPE, body, headers }
}

/** The same prepared bytes are asked for many times: their answer is made once and goes with them. */
const prepared = new WeakMap<Rendered, Answer>()

/** Sends prepared bytes, or 304 when the caller has them already. */
export function rendered(ready: Rendered, ifNoneMatch: string): Answer {
  let answer = prepared.get(ready)
  if (answer === undefined) prepared.set(ready, (answer = prepare(ready)))
  if (ifNoneMatch !== EMPTY && ready.etag !== undefined && matches(ifNoneMatch, ready.etag)) {
    return { ...answer, status: 304, body: EMPTY }
  }
  return answer
}

function prepare({ body, contentType = JSON_TYPE, etag, cacheControl, headers }: Rendered): Answer {
  const tagged = etag === undefined ? headers : { ...headers, ETag: etag }
  const all = cacheControl === undefined ? tagged : { ...tagged, 'Cache-Control': cacheControl }
  return { status: 200, contentType, body, headers: all ?? NO_HEADERS }
}

export function failure(error: ApiError): Answer {
  const { errors, data, headers } = error.details
  const body = {
    status: 'error',
    message: error.message,
    code: error.code satisfies ErrorCode,
    ...(errors === undefined ? {} : { errors }),
    ...(data === undefined ? {} : { data }),
  }
  const challenge = error.status === 401 ? { 'WWW-Authenticate': 'Bearer' } : NO_HEADERS
  return {
    status: error.status,
    contentType: JSON_TYPE,
    body: JSON.stringify(body),
    headers: { ...challenge, ...headers },
  }
}

/** RFC 9110 §13.1.2: a list of tags, weak comparison, or `*`. */
export function matches(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === '*' || ifNoneMatch === etag) return true
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
}
