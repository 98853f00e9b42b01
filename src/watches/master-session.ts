import { connect, type Socket } from 'node:net'

/** A master that reloads closes its sessions and takes new ones at once; one that is started anew takes a moment. */
const PATIENCE_MS = 250
const RETRY_MS = 50

/**
 * Whether HAProxy's master is there: a session with it stays open, and ends in the moment in which it does. Nothing is
 * asked.
 */
export class MasterSession {
  readonly #path: string
  readonly #onChange: () => void
  #socket: Socket | undefined
  #retry: NodeJS.Timeout | undefined
  #lost_ms: number | undefined
  #isThere = false
  #isClosed = false

  /** `onChange` is called when `isThere` is another one. */
  constructor(path: string, onChange: () => void) {
    this.#path = path
    this.#onChange = onChange
  }

  /** False until there is a session. */
  get isThere(): boolean {
    return this.#isThere
  }

  start(): void {
    const socket = connect(this.#path)
    this.#socket = socket
    // Nobody waits for what a master says by itself, but a socket that is not read does not see its end.
    socket.resume()
    socket.once('connect', () => {
      this.#lost_ms = undefined
      this.#set(true)
    })
    // The end follows.
    socket.on('error', () => undefined)
    socket.once('close', () => this.#ended())
    socket.unref()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
    this.#socket?.destroy()
  }

  #ended(): void {
    if (this.#isClosed) return
    const now_ms = performance.now()
    // At the first end it is tried again at once.
    const wait_ms = this.#lost_ms === undefined ? 0 : RETRY_MS
    this.#lost_ms ??= now_ms
    if (now_ms - this.#lost_ms >= PATIENCE_MS) this.#set(false)
    this.#retry = setTimeout(() => this.start(), wait_ms).unref()
  }

  #set(isThere: boolean): void {
    if (this.#isThere === isThere) return
    this.#isThere = isThere
    this.#onChange()
  }
}
