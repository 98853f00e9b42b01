import type { Readable } from 'node:stream'
import type { Endpoint } from '../api/endpoint.ts'
import { fillMessage, Reply } from '../api/reply.ts'
import type { Hold, Slices, Stream } from '../context/rendered.ts'
import type { ApiError, ErrorCode } from '../base/errors.ts'

/** An answer ready for the socket. */
export interface Answer {
  readonly status: number
  readonly contentType: string
  /** Code of a refusal. */
  readonly code?: string | undefined
  readonly body: string | Uint8Array
  /** Length of the body that an answer to HEAD would have; without it, that of `body`. */
  readonly length?: number | undefined
  readonly headers: Readonly<Record<string, string>>
  /** Type and headers as they are sent, made once for an answer that is sent many times. */
  readonly head?: string | undefined
  /** The bytes are overwritten by the next answer: they are sent at once, and copied by code that keeps them. */
  readonly isTransient?: true | undefined
  /** A copy can be spared: bytes that are held are not. */
  readonly hold?: Hold | undefined
  /** Asked for a moment later it is another one. */
  readonly isOfNow?: true | undefined
  /** Instead of `body`: made while it is sent. */
  readonly slices?: (() => Slices) | undefined
  /** Instead of `body`: without an end. */
  readonly stream?: Stream | undefined
  /** The stream is one of those that many may follow. */
  readonly isShared?: true | undefined
  /**
   * Comes from another node: instead of `body`, or what `stream` is made of. Code that does not send it destroys it.
   */
  readonly relayed?: Readable | undefined
  /** The user for whom a long answer is counted. */
  readonly holder?: string | undefined
}

export const JSON_TYPE = 'application/json'
/** Answers of this type have no end of their own. */
export const isEventStream = (contentType: string): boolean => contentType.startsWith('text/event-stream')
/** Statuses of answers that have no body. */
export const BODILESS: ReadonlySet<number> = new Set([204, 304])
const NO_HEADERS: Readonly<Record<string, string>> = {}

/**
 * The type and every header, as the value of `Content-Type` and the lines behind it: one call to the socket instead of
 * many. What does not say how it may be kept is kept nowhere: it may hold a secret.
 */
export function headOf({ contentType, headers }: Pick<Answer, 'contentType' | 'headers'>): string {
  let head = contentType
  if (headers['Cache-Control'] === undefined) head += '\r\nCache-Control: no-store'
  for (const name in headers) head += `\r\n${name}: ${headers[name]}`
  return head
}

export function success(
  status: number,
  message: string,
  data: unknown,
  headers: Readonly<Record<string, string>> = NO_HEADERS,
  beside: Readonly<Record<string, unknown>> = NO_HEADERS,
): Answer {
  const body = JSON.stringify(
    data === undefined ? { status: 'success', message, ...beside } : { status: 'success', message, data, ...beside },
  )
  return { status, contentType: JSON_TYPE, body, headers }
}

/** What a handler answered; `tag`: what its ETag says of the record that was read. */
export function answerWith(
  endpoint: Endpoint,
  params: Readonly<Record<string, string>>,
  result: unknown,
  tag: string | undefined,
): Answer {
  const tagged = endpoint.method === 'GET' && tag !== undefined ? { ETag: `"${tag}"` } : undefined
  if (result instanceof Reply) {
    const message = result.message ?? fillMessage(endpoint.message, params, result.data)
    const headers = tagged === undefined ? result.headers : { ...tagged, ...result.headers }
    return success(result.status ?? endpoint.status, message, result.data, headers, result.beside)
  }
  return success(endpoint.status, fillMessage(endpoint.message, params, result), result, tagged)
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
    code: error.code,
    body: JSON.stringify(body),
    headers: { ...challenge, ...headers },
  }
}

/** The answer with its whole body in memory of its own, for a caller without a socket. */
export function collect(answer: Answer): Answer
export function collect(answer: Answer | Promise<Answer>): Answer | Promise<Answer>
export function collect(answer: Answer | Promise<Answer>): Answer | Promise<Answer> {
  if (answer instanceof Promise) return answer.then((late) => collect(late))
  const { slices, isTransient, hold: _, ...rest } = answer
  if (slices === undefined) return isTransient === true ? { ...rest, body: Buffer.from(answer.body) } : answer
  const parts: Uint8Array[] = []
  const source = slices()
  for (let next = source.next(); ; next = source.next()) {
    if (next.done !== true) parts.push(Uint8Array.from(next.value))
    else if (next.value === undefined) break
    else throw new Error(next.value)
  }
  return { ...rest, body: Buffer.concat(parts) }
}
