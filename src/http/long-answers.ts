import type { HttpResponse } from 'uWebSockets.js'
import type { Slices } from '../context/rendered.ts'
import { writeSome } from './pieces.ts'

/**
 * One slice is made in one turn of the event loop, whichever answer it is for, so that short answers go between them.
 */
export class LongAnswers {
  readonly #ready: (() => void)[] = []
  #isDue = false

  /**
   * Sends what `slices` makes, as fast as the client takes it. The status and headers are written. `ended` is called
   * once when that is over. Answers a function to call when the client is gone.
   */
  send(response: HttpResponse, slices: Slices, ended: () => void): () => void {
    let isOver = false
    let isScheduled = false
    /** The rest of the last slice, which the client has not taken yet. */
    let left: Uint8Array | undefined
    const schedule = () => {
      if (isScheduled) return
      isScheduled = true
      this.#ready.push(turn)
      this.#wake()
    }
    const finish = () => {
      if (!isOver) ended()
      isOver = true
    }
    const turn = () => {
      isScheduled = false
      if (isOver) return
      if (left === undefined) {
        const next = slices.next()
        if (next.done === true) {
          finish()
          // Cut short, so that nobody takes a part for the whole.
          response.cork(() => (next.value === undefined ? response.end() : response.close()))
          return
        }
        const rest = writeSome(response, next.value)
        // The next slice, of whichever answer, is written over this one.
        if (rest !== undefined) left = Uint8Array.from(rest)
      } else left = writeSome(response, left)
      if (left === undefined) schedule()
    }
    response.onWritable(() => {
      schedule()
      return true
    })
    schedule()
    return finish
  }

  #wake(): void {
    if (this.#isDue || this.#ready.length === 0) return
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      try {
        this.#ready.shift()?.()
      } finally {
        this.#wake()
      }
    })
  }
}
