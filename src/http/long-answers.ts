import type { HttpResponse } from 'uWebSockets.js'
import type { Slices } from '../api/reply.ts'

/** Answers made while they are sent, at the same time. Each holds a slice in the socket and the text of one series: 64 are some 20 MB. */
export const LONG_ANSWERS_MAX = 64
/** From here on a body is sent as the socket takes it, from the memory it already has, and not copied into the socket. */
export const LARGE_BODY_BYTES = 128 * 1_024

/** One slice is made in one turn of the event loop, whichever answer it is for, so that short answers go between them. */
export class LongAnswers {
  readonly #ready: (() => void)[] = []
  #isDue = false
  #open = 0

  get hasRoom(): boolean {
    return this.#open < LONG_ANSWERS_MAX
  }

  get open(): number {
    return this.#open
  }

  /**
   * Sends what `slices` makes, as fast as the client takes it. The status and headers are written. Answers a function to call
   * when the client is gone.
   */
  send(response: HttpResponse, slices: Slices): () => void {
    let isOver = false
    let isScheduled = false
    const schedule = () => {
      if (isScheduled) return
      isScheduled = true
      this.#ready.push(turn)
      this.#wake()
    }
    const finish = () => {
      if (!isOver) this.#open--
      isOver = true
    }
    const turn = () => {
      isScheduled = false
      if (isOver) return
      let isTaken = true
      response.cork(() => {
        const next = slices.next()
        if (next.done !== true) {
          // An empty chunk would be the end.
          if (next.value.length > 0) isTaken = response.write(next.value)
          return
        }
        finish()
        // Cut short, so that nobody takes a part for the whole.
        if (next.value === undefined) response.end()
        else response.close()
      })
      if (isTaken) schedule()
    }
    this.#open++
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

/** Sends a body that stays as it is; what the socket does not take at once goes when it can. */
export function sendLarge(response: HttpResponse, body: Uint8Array): void {
  response.onWritable((offset) => response.tryEnd(body.subarray(offset), body.length)[0])
  response.tryEnd(body, body.length)
}

/** The same slices; `report` is told why they ended before the answer was whole. */
export function* reported(slices: Slices, report: (reason: string) => void, defect: (error: unknown) => void) {
  try {
    for (;;) {
      const next = slices.next()
      if (next.done !== true) {
        yield next.value
        continue
      }
      if (next.value !== undefined) report(next.value)
      return next.value
    }
  } catch (error) {
    defect(error)
    return 'a defect'
  }
}
