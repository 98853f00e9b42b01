import type { HttpResponse } from 'uWebSockets.js'
import type { Stream } from '../context/rendered.ts'
import { writePiece } from './pieces.ts'
import type { Unsent } from './unsent.ts'

/** Bytes that a slow client may leave unread in the socket. */
export const UNREAD_BYTES_MAX = 4 * 1024 * 1024

const COMMENT = ': \n\n'

/** Sends answers without an end, such as streams of events. */
export class Streams {
  readonly #unsent: Unsent

  constructor(unsent: Unsent) {
    this.#unsent = unsent
  }

  /**
   * The status and headers are written already. `ended` is called once at the end. Returns a function to call when the
   * client is gone. Only whole events are written, so that a comment can be put between two: uWebSockets.js sends what
   * waits only with the next write, and reports only then whether all was accepted.
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
        // An empty chunk would end the answer.
        if (isOver || text.length === 0) return
        if (writePiece(response, text)) return
        // A single piece may have any size; further data must not come on top of it.
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
    // The stream may have ended before it returned the function that stops it.
    if (isOver) stop()
    return finish
  }
}

const EVENT_END = '\n\n'

/** Collects pieces of any size and passes on whole events, each with its end. */
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
 * Returns a stream that ends once `isAllowed` returns false. A comment now and then keeps proxies from closing it; a
 * stream from another node already has that node's comments.
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
