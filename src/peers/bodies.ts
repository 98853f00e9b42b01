import { constants, type Http2Stream } from 'node:http2'
import { finished, Readable } from 'node:stream'

/**
 * Bodies of requests and answers. Node ends a stream that was reset midway as if it were complete, at least with some
 * codes, so the sender of a body says at its end that it is complete: in trailers, after which nothing can follow.
 */
const WHOLE = 'fulcrum-whole'
const IS_WHOLE = '1'

/** Bytes at once, or as they are made. A Readable is destroyed when the other side goes away. */
export type PeerBody = Uint8Array | string | AsyncIterable<Uint8Array | string>

/** What was to be sent could not be made to its end. */
export class SourceError extends Error {
  override readonly name = 'SourceError'
}

/**
 * Sends a body no faster than the other side takes it. Resolves when all is on its way, or when nobody wants it any
 * more; the stream was made with `waitForTrailers`.
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
      reject(new SourceError('What was to be sent ended half way', { cause: error }))
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

/** Not in object mode: its bounds are bytes then. */
const readableOf = (body: AsyncIterable<Uint8Array | string>) =>
  body instanceof Readable ? body : Readable.from(body, { objectMode: false })

/** Told of a body that is received. */
export interface Receiving {
  /** Its head said that nothing follows. */
  readonly isEmpty: boolean
  /** The error of a body that did not come to its end. */
  readonly broken: () => Error
  /** The reader wants no more. */
  readonly dropped: () => void
  /** All of it has come. */
  readonly ended: () => void
}

/**
 * The body that comes in a stream, read no faster than somebody takes it. It ends when it is whole, and otherwise
 * fails.
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
  // Code that does not read it must not be harmed by its fate.
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
