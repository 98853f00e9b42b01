import { connect, type Socket } from 'node:net'

/** Longer than any line of HAProxy. */
const LINE_BYTES_MAX = 128 * 1024

export interface LinesTaker {
  /** Called with the answer to `show info`, which precedes the lines. */
  begun(info: string): void
  line(text: string): void
  /** Called for a line without an end. */
  tooLong(): void
  ended(): void
}

/**
 * The lines of one HAProxy process over a session of its command socket: from the oldest in its ring, then as they
 * come. HAProxy never waits for the reader: it drops what the ring cannot hold. `before` is prepended to each command.
 */
export class WorkerLines {
  readonly #socket: Socket
  readonly #taker: LinesTaker
  #rest = ''
  #info: string | undefined = ''
  #isEnded = false

  constructor(path: string, ring: string, taker: LinesTaker, before = '') {
    this.#taker = taker
    this.#socket = connect(path)
    this.#socket.setEncoding('latin1')
    this.#socket.on('connect', () => this.#socket.write(`${before}show info; ${before}show events ${ring} -w\n`))
    this.#socket.on('data', (text: string) => this.#received(text))
    this.#socket.on('error', () => this.close())
    this.#socket.on('close', () => this.close())
  }

  #received(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#line(line)
    if (this.#rest.length <= LINE_BYTES_MAX) return
    this.#rest = ''
    this.#taker.tooLong()
  }

  #line(line: string): void {
    if (this.#info === undefined) {
      if (line !== '') this.#taker.line(line)
    } else if (line === '' && this.#info !== '') {
      const info = this.#info
      this.#info = undefined
      this.#taker.begun(info)
    } else this.#info += `${line}\n`
  }

  /** Releases the process. */
  close(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#socket.destroy()
    this.#taker.ended()
  }
}
