import type { HttpResponse } from 'uWebSockets.js'
import type { Stream } from '../context/rendered.ts'
import { writePiece } from './pieces.ts'
import type { Unsent } from './unsent.ts'

/** What a client that reads too slowly may leave in the socket. */
export const UNREAD_BYTES_MAX = 4 * 1024 * 1024

const COMMENT = ': \n\n'

/** Keeps answers without an end, such as streams of events. */
export class Streams {
  readonly #unsent: Unsent

  constructor(unsent: Unsent) {
    this.#unsent = unsent
  }

  /**
   * The status and headers are written. `ended` is called once when it is over. Answers a function to call when the
   * client is gone. What is written are whole events, so that a comment may be put between two: uWebSockets.js sends
   * what waits with the next write only, and says then whether all was taken.
   */
  send(response: HttpResponse, stream: Stream, ended: () => void): () => void {
    let isOver = false
    let unread = 0
    let stop: (() => void) | undefined
    const finish = () => {
      if (isOver) return
      isOver = true
      held.end()
      ended()
      stop?.()
    }
    const close = (how: 'end' | 'close') => {
      if (isOver) return
      finish()
      response.cork(() => (how === 'end' ? response.end() : response.close()))
    }
    const held = this.#unsent.hold(() => close('close'))
    response.onWritable(() => {
      if (unread > 0 && !writePiece(response, COMMENT)) return true
      unread = 0
      held.moved(0)
      return true
    })
    stop = stream({
      write(text) {
        // An empty chunk would be the end.
        if (isOver || text.length === 0) return
        if (writePiece(response, text)) return
        // One piece may be as large as it has to be; further data must not come on top of it.
        const isTooMuch = unread > 0 && unread + text.length > UNREAD_BYTES_MAX
        unread += text.length
        if (isTooMuch) close('close')
        else held.grown(text.length)
      },
      get isBehind() {
        return unread > 0
      },
      end: () => close('end'),
    })
    // The stream may have ended before it could say how to stop it.
    if (isOver) stop()
    return finish
  }
}

const EVENT_END = '\n\n'

/** Passes on whole events, each with its end, whatever pieces they come in. */
export function wholeEvents(pass: (events: readonly string[]) => void): (piece: string | Uint8Array) => void {
  let begun = ''
  return (piece) => {
    const events = `${begun}${typeof piece === 'string' ? piece : Buffer.from(piece).toString()}`.split(EVENT_END)
    begun = events.pop() ?? ''
    pass(events.map((event) => `${event}${EVENT_END}`))
  }
}

const LOOK_EVERY_MS = 15_000

/**
 * The same stream; it ends when `isAllowed` says so. A comment now and then keeps what is in between from giving up on
 * it; what comes from another node has that node's.
 */
export function whileAllowed(
  stream: Stream,
  isAllowed: () => boolean,
  { every_ms = LOOK_EVERY_MS, comment = COMMENT } = {},
): Stream {
  return (sink) => {
    const stop = stream(sink)
    const timer = setInterval(() => (isAllowed() ? sink.write(comment) : sink.end()), every_ms)
    return () => {
      clearInterval(timer)
      stop()
    }
  }
}
