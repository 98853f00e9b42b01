import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2'
import type { Readable } from 'node:stream'
import { type PeerBody, receivedBody, sendBody } from './bodies.ts'
import { carriedOfAnswer, REFUSED } from './carried.ts'
import { PeerError } from './peer-error.ts'

/** The answer of another node. */
export interface ForwardedAnswer {
  readonly status: number
  /** The headers among `ANSWER_HEADERS`, in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * It must be read or destroyed: until then it occupies one of the session's places. It ends when the answer is
   * complete, and fails with a `PeerError` otherwise.
   */
  readonly body: Readable
}

export interface Asking {
  readonly head: OutgoingHttpHeaders
  readonly body: PeerBody | undefined
  readonly signal: AbortSignal | undefined
  /** Called when the request no longer occupies a place. */
  readonly ended: () => void
  /** Returns the error for a request that was sent and not answered completely. */
  readonly lost: () => PeerError
}

/** Sends a request in a session. Resolves with the head of the answer; rejects with `PeerError`. */
export function ask(
  session: ClientHttp2Session,
  { head, body, signal, ended, lost }: Asking,
): Promise<ForwardedAnswer> {
  const hasBody = body !== undefined
  const stream = session.request(head, { endStream: !hasBody, waitForTrailers: hasBody })
  let why: PeerError | undefined
  const giveUp = (message: string) => {
    why ??= new PeerError('aborted', message)
    drop(stream)
  }
  const abort = () => giveUp('The caller closed the connection')
  signal?.addEventListener('abort', abort, { once: true })
  stream.on('error', () => undefined)
  if (hasBody) sendBody(stream, body).catch(({ message }: Error) => giveUp(message))
  return new Promise((resolve, reject) => {
    let isAnswered = false
    // An answer that arrives with the reset is reported a moment later.
    stream.once('aborted', () => setImmediate(() => isAnswered || stream.destroy()))
    stream.once('response', (answer, flags) => {
      isAnswered = true
      const refusal = refusalIn(answer)
      if (refusal !== undefined) {
        why = refusal
        drop(stream)
        return
      }
      const receiving = {
        isEmpty: (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0,
        broken: () => why ?? lost(),
        dropped: () => giveUp('Nobody reads the answer'),
        // An answer may arrive before the request was read; once it is complete, the rest of the request is not needed.
        ended: () => {
          if (!stream.writableFinished) drop(stream)
        },
      }
      const headers = carriedOfAnswer(answer)
      resolve({ status: answer[':status'] ?? 0, headers, body: receivedBody(stream, receiving) })
    })
    stream.once('close', () => {
      signal?.removeEventListener('abort', abort)
      ended()
      // Without effect when there was an answer.
      reject(why ?? (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM ? refusedStream() : lost()))
    })
  })
}

/**
 * Ends a stream. When the other side has reset it without an error, Node waits for pending writes, so it is destroyed.
 */
function drop(stream: ClientHttp2Stream): void {
  if (stream.closed) stream.destroy()
  else stream.close(constants.NGHTTP2_CANCEL)
}

function refusalIn({ [REFUSED]: reason }: IncomingHttpHeaders): PeerError | undefined {
  return typeof reason === 'string' ? new PeerError('refused', reason) : undefined
}

/** The error for a refused stream. RFC 9113, section 8.7: none of the request was processed. */
const refusedStream = () => new PeerError('busy', 'The node accepts no more requests at the moment')
