import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ApiError } from '../base/errors.ts'
import type { Slices, Stream } from '../context/rendered.ts'
import type { PeerAnswer, PeerRequest } from '../peers/answering.ts'
import { type Answer, BODILESS, failure } from './envelope.ts'
import type { Incoming } from './incoming.ts'
import { placeFor } from './sending.ts'
import { UNREAD_BYTES_MAX } from './streams.ts'

/** The answer to a forwarded request whose path does not lead to another node. */
export const NOT_FORWARDED: Answer = failure(
  new ApiError('UNKNOWN_ENDPOINT', 'There is no endpoint at this path that a node can answer for another'),
)

/** Returns a forwarded request in the form of a client's. */
export function fromPeer({ method, path, query, headers, who, body }: PeerRequest): Incoming {
  return {
    method,
    path,
    query,
    address: who.address,
    carried: who,
    header: (name) => headers[name] ?? '',
    isAmbiguous: false,
    readBody: (bytes_max) => wholeOf(body, bytes_max),
  }
}

async function wholeOf(body: Readable, bytes_max: number): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = []
  let size = 0
  try {
    for await (const piece of body as AsyncIterable<Uint8Array>) {
      size += piece.length
      if (size > bytes_max) return undefined
      pieces.push(piece)
    }
  } catch {
    throw new ApiError('MALFORMED_REQUEST', 'The body is incomplete')
  }
  return Buffer.concat(pieces)
}

/** Returns the answer in the form for the node that forwarded the request. */
export function forPeer(answer: Answer): PeerAnswer {
  const { slices, stream } = answer
  if (slices !== undefined) return lasting(answer, () => Readable.from(sliced(slices()), { objectMode: false }))
  if (stream !== undefined) return lasting(answer, () => readableOf(stream))
  return whole(answer)
}

const headOf = ({ status, headers, contentType }: Answer) => ({
  status,
  headers: { ...headers, 'content-type': contentType },
})

function whole(answer: Answer): PeerAnswer {
  const { status, headers } = headOf(answer)
  if (BODILESS.has(status)) return { status, headers }
  // The answer is sent after this turn.
  const body = answer.isTransient === true ? Buffer.from(answer.body) : answer.body
  return { status, headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) }, body }
}

/** A long answer takes a place on this node as well as on the client's node. */
function lasting(answer: Answer, source: () => Readable): PeerAnswer {
  try {
    const free = placeFor(answer)
    return { ...headOf(answer), body: source().once('close', free) }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return whole(failure(error))
  }
}

async function* sliced(slices: Slices): AsyncGenerator<Uint8Array> {
  for (;;) {
    const next = slices.next()
    if (next.done === true) {
      if (next.value !== undefined) throw new Error(next.value)
      return
    }
    // The next slice overwrites these bytes.
    yield Buffer.from(next.value)
    // Short answers take their turns in between.
    await nextTurn()
  }
}

/** Starts the stream at the first read, and stops it when the result is destroyed. */
function readableOf(stream: Stream): Readable {
  let stop: (() => void) | undefined
  let isOver = false
  const body = new Readable({
    read() {
      if (stop !== undefined) return
      stop = stream({
        write,
        end,
        get isBehind() {
          return body.readableLength > body.readableHighWaterMark
        },
      })
      // The stream may have ended before it returned the function that stops it.
      if (body.destroyed) stop()
    },
    destroy(error, callback) {
      isOver = true
      stop?.()
      callback(error)
    },
  })
  const write = (text: string | Uint8Array) => {
    if (isOver) return
    // A single piece may have any size; further data must not come on top of it.
    const isTooMuch = body.readableLength > 0 && body.readableLength + text.length > UNREAD_BYTES_MAX
    body.push(text)
    if (isTooMuch) body.destroy(new Error('the receiver has closed the connection'))
  }
  const end = () => {
    if (isOver) return
    isOver = true
    body.push(null)
  }
  return body
}
