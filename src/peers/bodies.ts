import { constants, type Http2Stream } from 'node:http2'
import { finished, Readable } from 'node:stream'

/**
 * Bodies of requests and answers. Node ends a stream that was reset midway as if it were complete, at least with some
 * codes, so the sender marks a complete body at its end: in trailers, after which nothing can follow.
 */
const WHOLE = 'fulcrum-whole'
const IS_WHOLE = '1'

/** Bytes in one piece, or as they are produced. A Readable is destroyed when the other side disconnects. */
export type PeerBody = Uint8Array | string | AsyncIterable<Uint8Array | string>

/** The source of a body failed before its end. */
export class SourceError extends Error {
  override readonly name = 'SourceError'
}

/**
 * Sends a body no faster than the other side reads it. Resolves when all of it is sent, or when the other side has
 * closed the stream; the stream was made with `waitForTrailers`.
 *
 * @throws {SourceError} when its source fails. The stream is reset then.
 */
export async function sendBody(stream: Http2Stream, body: PeerBody): Promise<void> {
  const source = typeof body === 'string' || body instanceof Uint8Array ? Readable.from([body]) : readableOf(body)
  await new Promise<void>((resolve, reject) => {
    let isWhole = false
    source.once('end', () => (isWhole = true))
    stream.once('wantTrailers', () => {
      if (!isWhole) return
      stream.sendTrailers({ [WHOLE]: IS_WHOLE })
      resolve()
    })
    const leave = () => {
      resolve()
      source.destroy()
    }
    finished(source, { writable: false }, (error) => {
      if (error === undefined || error === null) return
      reject(new SourceError('The body to be sent ended early', { cause: error }))
      stream.removeListener('close', leave)
      stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    })
    if (stream.closed || stream.destroyed) leave()
    else {
      stream.once('close', leave)
      source.pipe(stream)
    }
  })
}

/** Not in object mode, so that its buffer is limited in bytes. */
const readableOf = (body: AsyncIterable<Uint8Array | string>) =>
  body instanceof Readable ? body : Readable.from(body, { objectMode: false })

/** The callbacks of a received body. */
export interface Receiving {
  /** Whether the head announced that no body follows. */
  readonly isEmpty: boolean
  /** Returns the error for an incomplete body. */
  readonly broken: () => Error
  /** Called when the reader drops the body. */
  readonly dropped: () => void
  /** Called when all of it has arrived. */
  readonly ended: () => void
}

/**
 * Returns the body that arrives in a stream, received no faster than it is read. It ends when it is complete, and fails
 * otherwise.
 */
export function receivedBody(stream: Http2Stream, { isEmpty, broken, dropped, ended }: Receiving): Readable {
  let [isMarked, isEnded] = [false, false]
  const body = new Readable({
    read: () => stream.resume(),
    destroy: (error, callback) => {
      stream.pause()
      if (!isEnded) dropped()
      callback(error)
    },
  })
  // A failure of the body must not reach code that does not read it.
  body.on('error', () => undefined)
  if (isEmpty) {
    isEnded = true
    body.push(null)
    ended()
    return body
  }
  const end = () => {
    isEnded = true
    if (isMarked) {
      body.push(null)
      ended()
    } else {
      body.destroy(broken())
      dropped()
    }
  }
  stream.on('trailers', (trailers) => {
    isMarked = trailers[WHOLE] === IS_WHOLE
  })
  stream.on('data', (piece: Buffer) => {
    if (!body.push(piece)) stream.pause()
  })
  stream.once('end', end)
  stream.once('close', () => {
    if (!isEnded) end()
  })
  stream.pause()
  return body
}
