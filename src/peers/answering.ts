import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { Readable } from 'node:stream'
import type { Log } from '../base/log.ts'
import { type PeerBody, receivedBody, type Receiving, sendBody } from './bodies.ts'
import {
  CarriedError,
  carriedOfAnswer,
  carriedOfRequest,
  checkedPath,
  checkedRequestId,
  type Headers,
  REFUSED,
  REQUEST_ID,
  type Target,
  targetIn,
  WHO,
} from './carried.ts'
import { type CarriedWho, decodeWho, WhoError } from './who.ts'

/** A request that another node forwarded. */
export interface PeerRequest extends Target {
  /** The headers among `REQUEST_HEADERS`, in lower case. */
  readonly headers: Headers
  readonly requestId: string
  readonly who: CarriedWho
  /** The node that forwarded it. */
  readonly from: string
  /** Fails when it is incomplete. It may be left unread. */
  readonly body: Readable
  /** Aborted when the caller disconnects before it has the whole answer. */
  readonly signal: AbortSignal
}

export interface PeerAnswer {
  readonly status: number
  /** Only headers among `ANSWER_HEADERS` are sent. */
  readonly headers: Headers
  /** When it fails, the caller gets an error instead of the rest. */
  readonly body?: PeerBody
}

export type PeerHandler = (request: PeerRequest) => PeerAnswer | Promise<PeerAnswer>

/** Passes the request in a stream to the handler, and its answer to the caller. */
export async function answerStream(
  stream: ServerHttp2Stream,
  head: IncomingHttpHeaders,
  { from, handle, log }: { readonly from: string; readonly handle: PeerHandler; readonly log: Log },
): Promise<void> {
  const gone = new AbortController()
  const state = { isAnswered: false }
  stream.on('error', () => undefined)
  // A caller that resets the stream without an error is gone as well; Node would continue to write.
  stream.once('aborted', () => setImmediate(() => stream.destroy()))
  stream.once('close', () => {
    if (!state.isAnswered) gone.abort()
  })
  const request = readRequest(stream, head, from, gone.signal)
  if (typeof request === 'string') {
    log.warn('a request of a peer was refused', { from, reason: request })
    stream.respond({ ':status': 400, [REFUSED]: request }, { endStream: true })
    return
  }
  try {
    await sendAnswer(stream, request.method, await handle(request))
    // The sent answer may still be lost on its way; the caller notices.
    state.isAnswered = true
  } catch (error) {
    if (gone.signal.aborted) return
    const { requestId, method, path } = request
    log.error('a request of a peer could not be answered', { from, requestId, method, path, reason: reasonOf(error) })
    stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.stack}` : `${error.stack}`
}

/**
 * Nothing is done for an unread body: its rest stays unsent, as the caller ends its stream once it has the whole
 * answer.
 */
const RECEIVING: Omit<Receiving, 'isEmpty'> = {
  broken: () => new Error('the request is incomplete'),
  dropped: () => undefined,
  ended: () => undefined,
}

/** Returns the request, or the reason why it is invalid. */
function readRequest(
  stream: ServerHttp2Stream,
  head: IncomingHttpHeaders,
  from: string,
  signal: AbortSignal,
): PeerRequest | string {
  try {
    const target = targetIn(head)
    checkedPath(target)
    const { [WHO]: who, [REQUEST_ID]: requestId } = head
    const known = {
      ...target,
      headers: carriedOfRequest(head),
      requestId: checkedRequestId(typeof requestId === 'string' ? requestId : ''),
      who: decodeWho(typeof who === 'string' ? who : '', from),
      from,
      signal,
    }
    return { ...known, body: receivedBody(stream, { ...RECEIVING, isEmpty: stream.endAfterHeaders }) }
  } catch (error) {
    if (error instanceof CarriedError || error instanceof WhoError) return error.message
    throw error
  }
}

const NO_CONTENT = 204
const BODILESS: ReadonlySet<number> = new Set([NO_CONTENT, 304])

function headOf({ status, headers }: PeerAnswer): OutgoingHttpHeaders {
  const { 'content-length': length, ...others } = carriedOfAnswer(headers)
  // RFC 9110, section 8.6: a 204 has no length, not even 0.
  const measured = length === undefined || status === NO_CONTENT ? {} : { 'content-length': length }
  return { ':status': status, ...others, ...measured }
}

async function sendAnswer(stream: ServerHttp2Stream, method: string, answer: PeerAnswer): Promise<void> {
  const { status, body } = answer
  if (stream.closed || stream.destroyed) {
    if (body instanceof Readable) body.destroy()
    return
  }
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new Error(`${status} is not a status of an answer`)
  const head = headOf(answer)
  if (body === undefined || isEmpty(body) || method === 'HEAD' || BODILESS.has(status)) {
    if (body instanceof Readable) body.destroy()
    stream.respond(head, { endStream: true })
    return
  }
  stream.respond(head, { waitForTrailers: true })
  await sendBody(stream, body)
}

const isEmpty = (body: PeerBody) => (typeof body === 'string' || body instanceof Uint8Array) && body.length === 0
