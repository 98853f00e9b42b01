import type { HttpResponse } from 'uWebSockets.js'
import { ApiError } from '../base/errors.ts'
import { type Answer, failure, headOf } from './envelope.ts'
import type { Exchange } from './exchange.ts'
import { LongAnswers } from './long-answers.ts'
import { Places } from '../base/places.ts'
import { relay } from './relaying.ts'
import { Streams } from './streams.ts'
import { Unsent } from './unsent.ts'

/**
 * Answers made while they are sent, at the same time. Each holds a slice in the socket and the text of one series: 64
 * are some 20 MB.
 */
export const LONG_ANSWERS_MAX = 64
export const LONG_ANSWERS_EACH_MAX = 16
/** Answers without an end, at the same time. */
const STREAMS_MAX = 256
const STREAMS_EACH_MAX = 32
/** Clients of the same stream, each of which costs little more than its connection. */
const SHARED_STREAMS_MAX = 8_192
const SHARED_STREAMS_EACH_MAX = 2_048

/** What no answer is without: nobody guesses its type. */
export const COMMON_HEAD = '\r\nX-Content-Type-Options: nosniff'
/** A browser that came by TLS comes by TLS for a year; it forgets that when the certificate is not one it trusts. */
const TLS_HEAD = `${COMMON_HEAD}\r\nStrict-Transport-Security: max-age=31536000`

/** Headers that every answer of a listener has: lines behind another one. */
export const commonHeadOf = (tls: unknown): string => (tls === undefined ? COMMON_HEAD : TLS_HEAD)

/**
 * Larger ones are not copied into the socket, not even as the last of a connection; but for those behind a body that
 * ends unclearly, as only `end` closes the connection.
 */
export const LARGE_BODY_BYTES = 128 * 1_024

/** For this thread: all its listeners share one event loop. */
const unsent = new Unsent()
const longAnswers = new LongAnswers()
const streams = new Streams(unsent)
const longPlaces = new Places({
  what: 'long answers',
  all_max: LONG_ANSWERS_MAX,
  each_max: LONG_ANSWERS_EACH_MAX,
  retryAfter_s: 1,
})
const streamPlaces = new Places({ what: 'streams', all_max: STREAMS_MAX, each_max: STREAMS_EACH_MAX, retryAfter_s: 10 })
const sharedPlaces = new Places({
  what: 'streams of figures',
  all_max: SHARED_STREAMS_MAX,
  each_max: SHARED_STREAMS_EACH_MAX,
  retryAfter_s: 10,
})

/**
 * Writes an answer. What the socket does not take at once goes when it can; a further request before that ends the
 * connection.
 */
export function send(response: HttpResponse, wanted: Answer, requestId: string, exchange: Exchange): void {
  if ((wanted.slices ?? wanted.stream ?? wanted.relayed) !== undefined && exchange.method !== 'HEAD') {
    sendLasting(response, wanted, requestId, exchange)
    return
  }
  begin(response, wanted, requestId, exchange)
  if (exchange.method === 'HEAD' || wanted.status === 204) sendHead(response, wanted, exchange)
  // A length would be taken for that of the bytes which the client has.
  else if (wanted.status === 304 && !exchange.isLast) response.endWithoutBody()
  else if (wanted.status === 304) endHead(response, exchange)
  else if (exchange.isUnclear || (exchange.isLast && wanted.body.length < LARGE_BODY_BYTES))
    response.end(wanted.body, true)
  else sendBody(response, wanted, exchange)
}

/** Sends an answer that is not there yet; resolves when that is done, or the client is gone. */
export async function sendLater(
  response: HttpResponse,
  exchange: Exchange,
  answer: Promise<Answer>,
  requestId: string,
): Promise<void> {
  response.onAborted(() => exchange.abort())
  exchange.release()
  const late = await answer
  exchange.endReading()
  if (!exchange.aborted) response.cork(() => send(response, late, requestId, exchange))
}

/** The status and the headers. */
export function begin(response: HttpResponse, answer: Answer, requestId: string, exchange: Exchange): void {
  if (answer.status !== 200) response.writeStatus(STATUS_LINES[answer.status] ?? String(answer.status))
  response.writeHeader(
    'Content-Type',
    `${answer.head ?? headOf(answer)}\r\nX-Request-Id: ${requestId}${exchange.headBehind(answer)}`,
  )
}

/** While an answer that lasts goes on it has a place. Refuses with TOO_MANY_AT_ONCE. */
export function placeFor({ stream, isShared, holder = '' }: Answer): () => void {
  if (stream === undefined) return longPlaces.take(holder)
  return (isShared === true ? sharedPlaces : streamPlaces).take(holder)
}

function sendLasting(response: HttpResponse, answer: Answer, requestId: string, exchange: Exchange): void {
  const { slices, stream, relayed } = answer
  let free: () => void
  try {
    free = placeFor(answer)
  } catch (error) {
    relayed?.destroy()
    if (!(error instanceof ApiError)) throw error
    send(response, failure(error), requestId, exchange)
    return
  }
  const cut = () => response.close()
  const over = stream === undefined ? exchange.owes(cut) : exchange.lasts(cut)
  const ended = () => {
    over()
    free()
  }
  begin(response, answer, requestId, exchange)
  if (slices !== undefined) exchange.onGone(longAnswers.send(response, slices(), ended))
  else if (stream !== undefined) {
    let gone = () => undefined as void
    exchange.onGone(() => gone())
    gone = streams.send(response, stream, ended)
  } else if (relayed !== undefined) exchange.onGone(relay(response, relayed, ended))
}

/**
 * uWebSockets.js tells of a body that the socket did not take, and of nothing else: without one a client that reads
 * nothing could let answers pile up. So the connection ends after an answer that has none.
 */
function sendHead(response: HttpResponse, answer: Answer, exchange: Exchange): void {
  const { status, slices, stream, relayed, body, length = Buffer.byteLength(body) } = answer
  if ((slices ?? stream ?? relayed) !== undefined || status === 204 || status === 304) {
    endHead(response, exchange)
    return
  }
  exchange.onGone(() => undefined)
  if (length === 0) {
    response.endWithoutBody(0, true)
    return
  }
  response.writeHeader('Connection', 'close')
  // The length alone: the response stays open, and whatever comes behind it ends the connection.
  response.tryEnd('', length)
  closeBehind(response, exchange)
}

/**
 * Ends the headers without a length, which nobody knows, or which none may be named for, and the connection behind
 * them. uWebSockets.js does either with a length of its own, or leaves the connection open.
 */
function endHead(response: HttpResponse, exchange: Exchange): void {
  exchange.onGone(() => undefined)
  response.writeHeader('Connection', `close\r\nDate: ${new Date().toUTCString()}\r\n`)
  closeBehind(response, exchange)
}

function closeBehind(response: HttpResponse, exchange: Exchange): void {
  setImmediate(() => {
    if (!exchange.aborted) response.close()
  })
}

function sendBody(response: HttpResponse, answer: Answer, exchange: Exchange): void {
  // Without a length it is that of the body.
  if (!response.tryEnd(answer.body, 0)[1]) sendRest(response, answer, exchange)
}

/** Apart from the above, whose every call would pay for what is kept here. */
function sendRest(response: HttpResponse, { body, isTransient, hold }: Answer, exchange: Exchange): void {
  const sent = response.getWriteOffset()
  const letGo = hold?.()
  const [total, rest] = restOf(body, sent, isTransient === true && letGo === undefined)
  const held = unsent.hold(() => response.close())
  const over = exchange.owes()
  const end = () => {
    held.end()
    letGo?.()
    over()
  }
  exchange.onGone(end)
  held.moved(total - sent)
  if (exchange.aborted) return
  response.onWritable((offset) => {
    held.moved(total - offset)
    if (exchange.aborted) return true
    const [isTaken, isWhole] = response.tryEnd(rest.subarray(offset - sent), total)
    if (isWhole) end()
    return isTaken
  })
}

/** The length of the body, and what of it is left. Bytes that stay as they are need no copy. */
function restOf(body: string | Uint8Array, sent: number, isTransient: boolean): readonly [number, Uint8Array] {
  if (typeof body !== 'string')
    return [body.length, isTransient ? Uint8Array.from(body.subarray(sent)) : body.subarray(sent)]
  const bytes = Buffer.from(body)
  return [bytes.length, bytes.subarray(sent)]
}

/** As they stand in the first line of an answer. */
export const STATUS_LINES: Readonly<Record<number, string>> = {
  200: '200 OK',
  201: '201 Created',
  202: '202 Accepted',
  204: '204 No Content',
  303: '303 See Other',
  304: '304 Not Modified',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  409: '409 Conflict',
  412: '412 Precondition Failed',
  413: '413 Content Too Large',
  415: '415 Unsupported Media Type',
  422: '422 Unprocessable Content',
  429: '429 Too Many Requests',
  500: '500 Internal Server Error',
  501: '501 Not Implemented',
  502: '502 Bad Gateway',
  503: '503 Service Unavailable',
}
