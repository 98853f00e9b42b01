import type { HttpResponse } from 'uWebSockets.js'
import { ApiError } from '../errors.ts'
import { type Answer, failure, headOf } from './envelope.ts'
import type { Exchange } from './exchange.ts'
import { LongAnswers } from './long-answers.ts'
import { Places } from './places.ts'
import { STATUS_LINES } from './status-lines.ts'
import { Streams } from './streams.ts'
import { Unsent } from './unsent.ts'

/** Answers made while they are sent, at the same time. Each holds a slice in the socket and the text of one series: 64 are some 20 MB. */
export const LONG_ANSWERS_MAX = 64
export const LONG_ANSWERS_EACH_MAX = 16
/** Answers without an end, at the same time. */
const STREAMS_MAX = 256
const STREAMS_EACH_MAX = 32

/** Larger ones are not copied into the socket, not even as the last of a connection. */
const LARGE_BODY_BYTES = 128 * 1_024

/** Of the whole process: all listeners share one event loop. */
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

/** Writes an answer. What the socket does not take at once goes when it can; a further request before that ends the connection. */
export function send(response: HttpResponse, wanted: Answer, requestId: string, exchange: Exchange): void {
  if ((wanted.slices ?? wanted.stream) !== undefined && exchange.method !== 'HEAD') {
    sendLasting(response, wanted, requestId, exchange)
    return
  }
  begin(response, wanted, requestId, exchange)
  if (exchange.method === 'HEAD') sendHead(response, wanted, exchange)
  else if (exchange.isLast && wanted.body.length < LARGE_BODY_BYTES) response.end(wanted.body, true)
  else sendBody(response, wanted, exchange)
}

function begin(response: HttpResponse, answer: Answer, requestId: string, { commonHead }: Exchange): void {
  if (answer.status !== 200) response.writeStatus(STATUS_LINES[answer.status] ?? String(answer.status))
  response.writeHeader('Content-Type', `${answer.head ?? headOf(answer)}\r\nX-Request-Id: ${requestId}${commonHead}`)
}

/** While such an answer goes on it has a place; who gets none is refused. */
function sendLasting(response: HttpResponse, answer: Answer, requestId: string, exchange: Exchange): void {
  const { slices, stream, holder = '' } = answer
  let free: () => void
  try {
    free = (slices === undefined ? streamPlaces : longPlaces).take(holder)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    send(response, failure(error), requestId, exchange)
    return
  }
  begin(response, answer, requestId, exchange)
  if (slices !== undefined) exchange.onGone(longAnswers.send(response, slices(), free))
  else if (stream !== undefined) {
    let gone = () => undefined as void
    exchange.onGone(() => gone())
    gone = streams.send(response, stream, free)
  }
}

/**
 * uWebSockets.js tells of a body that the socket did not take, and of nothing else: without one a client that reads nothing could
 * let answers pile up. So the connection ends behind an answer that has none.
 */
function sendHead(response: HttpResponse, { slices, stream, body }: Answer, exchange: Exchange): void {
  exchange.onGone(() => undefined)
  response.writeHeader('Connection', 'close')
  // The length alone: the response stays open, and whatever comes behind it ends the connection.
  if ((slices ?? stream) === undefined && body.length > 0) response.tryEnd('', Buffer.byteLength(body))
  else {
    response.endWithoutBody(undefined, true)
    return
  }
  setImmediate(() => {
    if (!exchange.aborted) response.close()
  })
}

function sendBody(response: HttpResponse, answer: Answer, exchange: Exchange): void {
  // Without a length it is that of the body.
  if (!response.tryEnd(answer.body, 0)[1]) sendRest(response, answer, exchange)
}

/** Apart from the above, whose every call would pay for what is kept here. */
function sendRest(response: HttpResponse, { body, isTransient }: Answer, exchange: Exchange): void {
  const sent = response.getWriteOffset()
  const [total, rest] = restOf(body, sent, isTransient === true)
  const held = unsent.hold(() => response.close())
  exchange.onGone(() => held.end())
  held.moved(total - sent)
  if (exchange.aborted) return
  response.onWritable((offset) => {
    held.moved(total - offset)
    if (exchange.aborted) return true
    const [isTaken, isWhole] = response.tryEnd(rest.subarray(offset - sent), total)
    if (isWhole) held.end()
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
