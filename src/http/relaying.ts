import { finished, type Readable } from 'node:stream'
import type { HttpResponse } from 'uWebSockets.js'

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
    let isTaken = true
    response.cork(() => (isTaken = response.write(piece)))
    if (!isTaken) source.pause()
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
