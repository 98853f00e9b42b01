import type { HttpResponse } from 'uWebSockets.js'

/**
 * The bytes between two flushes must fit, with the headers of the first piece, into the 16 KiB buffer of
 * uWebSockets.js. If the socket has no room for the chunk length of a larger piece, uWebSockets.js sends that length
 * later but loses the bytes (https://github.com/uNetworking/uWebSockets.js/issues/1249).
 */
const FLUSH_BYTES_MAX = 15 * 1_024
/** In UTF-8, per UTF-16 code unit. */
const BYTES_PER_UNIT_MAX = 3

/** Writes a slice until the client accepts no more; returns the rest, if any. */
export function writeSome(response: HttpResponse, slice: Uint8Array): Uint8Array | undefined {
  for (let from = 0; from < slice.length; from += FLUSH_BYTES_MAX) {
    const to = from + FLUSH_BYTES_MAX
    if (!writePart(response, slice.subarray(from, to))) return slice.subarray(to)
  }
  return undefined
}

/** Writes a piece of an answer of unknown length. Returns whether the client accepts more. */
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
