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

/** What another node answered. */
export interface ForwardedAnswer {
  readonly status: number
  /** Carried headers, in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * Has to be read or destroyed: until then it holds a place of the session. It ends when the answer is whole, and
   * fails with a `PeerError` otherwise.
   */
  readonly body: Readable
}

export interface Asking {
  readonly head: OutgoingHttpHeaders
  readonly body: PeerBody | undefined
  readonly signal: AbortSignal | undefined
  /** It takes no place any more. */
  readonly ended: () => void
  /** The error of what was sent and not answered to its end. */
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
  const abort = () => giveUp('The caller went away')
  signal?.addEventListener('abort', abort, { once: true })
  stream.on('error', () => undefined)
  if (hasBody) sendBody(stream, body).catch(({ message }: Error) => giveUp(message))
  return new Promise((resolve, reject) => {
    let isAnswered = false
    // An answer that came with the reset is told a moment later.
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
        // An answer may come before the request was read; with the answer here, the rest of it is for nobody.
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
      // Nothing happens when there was an answer.
      reject(why ?? (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM ? refusedStream() : lost()))
    })
  })
}

/** Node waits for what is still to be written when the other side has reset a stream without an error. */
function drop(stream: ClientHttp2Stream): void {
  if (stream.closed) stream.destroy()
  else stream.close(constants.NGHTTP2_CANCEL)
}

function refusalIn({ [REFUSED]: reason }: IncomingHttpHeaders): PeerError | undefined {
  return typeof reason === 'string' ? new PeerError('refused', reason) : undefined
}

/** RFC 9113, section 8.7: nothing of it was processed. */
const refusedStream = () => new PeerError('busy', 'The node takes no more requests at the moment')
