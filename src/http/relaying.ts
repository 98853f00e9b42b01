import { finished, type Readable } from 'node:stream'
import type { HttpResponse } from 'uWebSockets.js'
import { writePiece } from './pieces.ts'

/**
 * Sends so many bytes as they come, no faster than the client takes them. The status and headers are written. When they
 * do not all come, the connection ends. `ended` is called when it is over. Answers a function to call when the client
 * is gone.
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
    // The client may have yet to take the last piece.
    if (isOver || come === total) return
    finish()
    response.close()
  })
  return finish
}

/**
 * Sends what another node answers, no faster than the client takes it. The status and headers are written. `ended` is
 * called once when it is over. Answers a function to call when the client is gone.
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
    // Cut short, so that nobody takes a part for the whole.
    response.cork(() => (error ? response.close() : response.end()))
  })
  return finish
}
