import type { HttpResponse } from 'uWebSockets.js'

/**
 * What is written between two flushes has room in the buffer of uWebSockets.js, which has 16 KiB, beside the headers of
 * the first piece. Of a larger one it loses all when the socket has no room for the length of its chunk: that is kept
 * and sent later, and the bytes are not (https://github.com/uNetworking/uWebSockets.js/issues/1249).
 */
const FLUSH_BYTES_MAX = 15 * 1_024
/** In UTF-8. */
const BYTES_PER_UNIT_MAX = 3

/** Writes a slice up to the first part behind which the client takes no more; answers what is left then. */
export function writeSome(response: HttpResponse, slice: Uint8Array): Uint8Array | undefined {
  for (let from = 0; from < slice.length; from += FLUSH_BYTES_MAX) {
    const to = from + FLUSH_BYTES_MAX
    if (!writePart(response, slice.subarray(from, to))) return slice.subarray(to)
  }
  return undefined
}

/** Writes a piece of an answer whose length nobody knows. Answers whether the client takes more. */
export function writePiece(response: HttpResponse, piece: string | Uint8Array): boolean {
  if (piece.length * (typeof piece === 'string' ? BYTES_PER_UNIT_MAX : 1) <= FLUSH_BYTES_MAX)
    return writePart(response, piece)
  const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
  let isTaken = true
  for (let from = 0; from < bytes.length; from += FLUSH_BYTES_MAX)
    isTaken = writePart(response, bytes.subarray(from, from + FLUSH_BYTES_MAX))
  return isTaken
}

function writePart(response: HttpResponse, part: string | Uint8Array): boolean {
  let isTaken = true
  response.cork(() => (isTaken = response.write(part)))
  return isTaken
}
