import { finished, type Readable } from 'node:stream'
import type { HttpResponse } from 'uWebSockets.js'
import { writePiece } from './pieces.ts'

/**
 * Sends `total` bytes as they arrive, no faster than the client accepts them. The status and headers are written
 * already. If fewer arrive, the connection ends. `ended` is called at the end. Returns a function to call when the
 * client is gone.
 */
export function relayWhole(response: HttpResponse, source: Readable, total: number, ended: () => void): () => void {
  let piece: Uint8Array = new Uint8Array(0)
  let [come, sent, isOver] = [0, 0, false]
  const finish = () => {
    isOver = true
    ended()
    source.destroy()
  }
  const write = (bytes: Uint8Array): boolean => {
    let [isTaken, isWhole] = [true, false]
    response.cork(() => ([isTaken, isWhole] = response.tryEnd(bytes, total)))
    if (isWhole) {
      isOver = true
      ended()
    }
    return isTaken
  }
  source.on('data', (bytes: Uint8Array) => {
    if (isOver) return
    ;[piece, sent] = [bytes, come]
    come += bytes.length
    if (!write(bytes)) source.pause()
  })
  response.onWritable((offset) => {
    if (isOver) return true
    const isTaken = write(piece.subarray(offset - sent))
    if (isTaken) source.resume()
    return isTaken
  })
  finished(source, () => {
    // The client may not have accepted the last piece yet.
    if (isOver || come === total) return
    finish()
    response.close()
  })
  return finish
}

/**
 * Sends the answer of another node no faster than the client accepts it. The status and headers are written already.
 * `ended` is called once at the end. Returns a function to call when the client is gone.
 */
export function relay(response: HttpResponse, source: Readable, ended: () => void): () => void {
  let isOver = false
  const finish = () => {
    if (isOver) return
    isOver = true
    ended()
    source.destroy()
  }
  source.on('data', (piece: Uint8Array) => {
    if (isOver) return
    if (!writePiece(response, piece)) source.pause()
  })
  response.onWritable(() => {
    source.resume()
    return true
  })
  finished(source, (error) => {
    if (isOver) return
    finish()
    // Closed without an end on an error, so that the client does not mistake a part for the whole.
    response.cork(() => (error ? response.close() : response.end()))
  })
  return finish
}
