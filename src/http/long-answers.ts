import type { HttpResponse } from 'uWebSockets.js'
import type { Slices } from '../context/rendered.ts'
import { writeSome } from './pieces.ts'

/** Generates one slice per turn of the event loop, over all answers, so that short answers are served in between. */
export class LongAnswers {
  readonly #ready: (() => void)[] = []
  #isDue = false

  /**
   * Sends the slices as fast as the client accepts them. The status and headers are written already. `ended` is called
   * once at the end. Returns a function to call when the client is gone.
   */
  send(response: HttpResponse, slices: Slices, ended: () => void): () => void {
    let isOver = false
    let isScheduled = false
    /** The rest of the last slice, which the client has not accepted yet. */
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
          // Closed without an end, so that the client does not mistake a part for the whole.
          response.cork(() => (next.value === undefined ? response.end() : response.close()))
          return
        }
        const rest = writeSome(response, next.value)
        // The next slice, of whichever answer, overwrites these bytes.
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
