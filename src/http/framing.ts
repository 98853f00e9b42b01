import type { HttpRequest } from 'uWebSockets.js'
import { ApiError } from '../base/errors.ts'
import { type Answer, failure } from './envelope.ts'
import { HAS_BODY } from './incoming.ts'

/** How a request marks the end of its body. */
export type Framing = 'no body' | 'length' | 'chunked' | 'ambiguous'

const SINGLE_HEADERS = new Set(['content-length', 'transfer-encoding', 'host', 'authorization', 'content-type'])

/**
 * Repeated, unknown or odd framing headers are ambiguous: two readings of where a body ends allow smuggling requests
 * past a proxy. For nearly all requests, which have no body and no framing headers, this costs two look-ups.
 */
export function framingOf(request: Pick<HttpRequest, 'getHeader' | 'forEach'>, method: string): Framing {
  const isPlain = request.getHeader('content-length') === '' && request.getHeader('transfer-encoding') === ''
  if (isPlain && !HAS_BODY.has(method)) return 'no body'
  const seen = new Map<string, string>()
  let isAmbiguous = false
  request.forEach((name, value) => {
    if (!SINGLE_HEADERS.has(name)) return
    isAmbiguous ||= seen.has(name)
    seen.set(name, value)
  })
  const [coding, length] = [seen.get('transfer-encoding'), seen.get('content-length')]
  if (isAmbiguous || (coding !== undefined && length !== undefined)) return 'ambiguous'
  if (coding !== undefined) return coding.toLowerCase() === 'chunked' ? 'chunked' : 'ambiguous'
  if (length === undefined) return 'no body'
  if (!/^\d{1,15}$/.test(length)) return 'ambiguous'
  return Number(length) === 0 ? 'no body' : 'length'
}

/** Refuses a body that nothing reads and that a proxy may take for the next request. */
export const UNWANTED_BODY = failure(new ApiError('MALFORMED_REQUEST', 'A read request must not have a body'))

/**
 * Delays the answer by a turn. While an answer is owed, uWebSockets.js ends a connection on which another request
 * arrives, so no request that was received together with this one is served.
 */
export async function behindWhatCame(answer: Answer | Promise<Answer>): Promise<Answer> {
  const settled = await answer
  await new Promise((resolve) => setImmediate(resolve))
  return settled
}
