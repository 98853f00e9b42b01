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
 * Answers that may be generated at the same time. Each holds a slice in the socket and the text of one series: 64 are
 * some 20 MB.
 */
export const LONG_ANSWERS_MAX = 64
export const LONG_ANSWERS_EACH_MAX = 16
/** Streams that may be open at the same time. */
const STREAMS_MAX = 256
const STREAMS_EACH_MAX = 32
/** Clients of shared streams, each of which costs little more than its connection. */
const SHARED_STREAMS_MAX = 8_192
const SHARED_STREAMS_EACH_MAX = 2_048

/** Headers of every answer: browsers must not guess its type. */
export const COMMON_HEAD = '\r\nX-Content-Type-Options: nosniff'
/** Browsers that came by TLS keep to TLS for a year; they ignore this if they do not trust the certificate. */
const TLS_HEAD = `${COMMON_HEAD}\r\nStrict-Transport-Security: max-age=31536000`

/** Returns the header lines of every answer of a listener. */
export const commonHeadOf = (tls: unknown): string => (tls === undefined ? COMMON_HEAD : TLS_HEAD)

/**
 * Larger bodies are not copied into the socket, even in the last answer of a connection. The exception are answers to a
 * body whose end is unclear, because only `end` closes the connection.
 */
export const LARGE_BODY_BYTES = 128 * 1_024

/** Per thread: all its listeners share one event loop. */
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
 * Writes an answer. What the socket does not accept at once is sent later; a further request before that ends the
 * connection.
 */
export function send(response: HttpResponse, wanted: Answer, requestId: string, exchange: Exchange): void {
  if ((wanted.slices ?? wanted.stream ?? wanted.relayed) !== undefined && exchange.method !== 'HEAD') {
    sendLasting(response, wanted, requestId, exchange)
    return
  }
  begin(response, wanted, requestId, exchange)
  if (exchange.method === 'HEAD' || wanted.status === 204) sendHead(response, wanted, exchange)
  // A length would be taken for that of the bytes the client already has.
  else if (wanted.status === 304 && !exchange.isLast) response.endWithoutBody()
  else if (wanted.status === 304) endHead(response, exchange)
  else if (exchange.isUnclear || (exchange.isLast && wanted.body.length < LARGE_BODY_BYTES))
    response.end(wanted.body, true)
  else sendBody(response, wanted, exchange)
}

/** Sends an answer that is not ready yet; resolves when it is sent, or the client is gone. */
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

/** Writes the status and the headers. */
export function begin(response: HttpResponse, answer: Answer, requestId: string, exchange: Exchange): void {
  if (answer.status !== 200) response.writeStatus(STATUS_LINES[answer.status] ?? String(answer.status))
  response.writeHeader(
    'Content-Type',
    `${answer.head ?? headOf(answer)}\r\nX-Request-Id: ${requestId}${exchange.headBehind(answer)}`,
  )
}

/** Takes a place for a long answer, which it holds until its end. Refuses with TOO_MANY_AT_ONCE. */
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
 * uWebSockets.js reports only bodies that the socket did not accept: with answers without a body, a client that reads
 * nothing could let them pile up. So the connection ends after such an answer.
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
  // Announces the length only: the response stays open, and whatever follows ends the connection.
  response.tryEnd('', length)
  closeBehind(response, exchange)
}

/**
 * Ends the headers without a length, because it is unknown or must not be named, and then the connection. The functions
 * of uWebSockets.js for this either add a length or leave the connection open.
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
  // With 0, the length is that of the body.
  if (!response.tryEnd(answer.body, 0)[1]) sendRest(response, answer, exchange)
}

/** Separate from `sendBody`, whose every call would pay for the variables kept here. */
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

/** Returns the length of the body and its unsent rest. Bytes that do not change need no copy. */
function restOf(body: string | Uint8Array, sent: number, isTransient: boolean): readonly [number, Uint8Array] {
  if (typeof body !== 'string')
    return [body.length, isTransient ? Uint8Array.from(body.subarray(sent)) : body.subarray(sent)]
  const bytes = Buffer.from(body)
  return [bytes.length, bytes.subarray(sent)]
}

/** Status lines of answers. */
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
