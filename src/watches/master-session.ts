import { connect, type Socket } from 'node:net'
import { defer } from '../base/deferred.ts'

/** A master that reloads closes its sessions and accepts new ones at once; one that is restarted takes a moment. */
const PATIENCE_MS = 250
const RETRY_MS = 50

/**
 * Observes whether HAProxy's master runs: a session with it stays open, and ends at the same moment as the master. No
 * commands are sent.
 */
export class MasterSession {
  readonly #path: string
  readonly #onChange: () => void
  #socket: Socket | undefined
  #retry: NodeJS.Timeout | undefined
  #lost_ms: number | undefined
  #isThere = false
  #isClosed = false
  readonly #isKnown = defer()

  /** `onChange` is called when `isThere` changes. */
  constructor(path: string, onChange: () => void) {
    this.#path = path
    this.#onChange = onChange
  }

  /** False until there is a session. */
  get isThere(): boolean {
    return this.#isThere
  }

  /** Resolves when it is known whether the master runs. */
  start(): Promise<void> {
    this.#connect()
    return this.#isKnown.promise
  }

  #connect(): void {
    const socket = connect(this.#path)
    this.#socket = socket
    // Unrequested output of the master is dropped, but a socket that is not read does not report its end.
    socket.resume()
    socket.once('connect', () => {
      this.#lost_ms = undefined
      this.#set(true)
      this.#isKnown.resolve()
    })
    // The close event follows.
    socket.on('error', () => undefined)
    socket.once('close', () => this.#ended())
    socket.unref()
  }

  close(): void {
    this.#isClosed = true
    this.#isKnown.resolve()
    clearTimeout(this.#retry)
    this.#socket?.destroy()
  }

  #ended(): void {
    if (this.#isClosed) return
    const now_ms = performance.now()
    // After the first end it reconnects at once.
    const wait_ms = this.#lost_ms === undefined ? 0 : RETRY_MS
    this.#lost_ms ??= now_ms
    if (now_ms - this.#lost_ms >= PATIENCE_MS) {
      this.#set(false)
      this.#isKnown.resolve()
    }
    this.#retry = setTimeout(() => this.#connect(), wait_ms).unref()
  }

  #set(isThere: boolean): void {
    if (this.#isThere === isThere) return
    this.#isThere = isThere
    this.#onChange()
  }
}
