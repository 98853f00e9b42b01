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
  /** Length of the body that an answer to HEAD would have; defaults to that of `body`. */
  readonly length?: number | undefined
  readonly headers: Readonly<Record<string, string>>
  /** Type and headers as they are sent, built once for an answer that is sent many times. */
  readonly head?: string | undefined
  /** The next answer overwrites these bytes: they are sent at once, and code that keeps them copies them. */
  readonly isTransient?: true | undefined
  /** Makes a copy unnecessary: bytes are not overwritten while they are held. */
  readonly hold?: Hold | undefined
  /** The same request would be answered differently a moment later. */
  readonly isOfNow?: true | undefined
  /** Instead of `body`: generated while it is sent. */
  readonly slices?: (() => Slices) | undefined
  /** Instead of `body`: has no end. */
  readonly stream?: Stream | undefined
  /** Whether many clients may follow the same stream. */
  readonly isShared?: true | undefined
  /**
   * Comes from another node, instead of `body` or as the source of `stream`. Code that does not send it must destroy
   * it.
   */
  readonly relayed?: Readable | undefined
  /** The user against whose limit a long answer counts. */
  readonly holder?: string | undefined
}

export const JSON_TYPE = 'application/json'
/** Answers of this type have no end. */
export const isEventStream = (contentType: string): boolean => contentType.startsWith('text/event-stream')
/** Statuses of answers without a body. */
export const BODILESS: ReadonlySet<number> = new Set([204, 304])
const NO_HEADERS: Readonly<Record<string, string>> = {}

/**
 * Returns the type and all headers as the value of `Content-Type` followed by lines: one call to the socket instead of
 * many. An answer that does not say how it may be cached is marked `no-store`, as it may hold a secret.
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

/** Builds the answer from a handler's result; `tag` is the ETag of the record that was read. */
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

/** Returns the answer with its whole body in memory of its own, for a caller without a socket. */
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
