import { isDeepStrictEqual } from 'node:util'
import { type Chunk, type SyslogAddress, SyslogConnection } from './syslog-connection.ts'

/** Bytes of waiting messages: about half a minute of 5,000 requests a second. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024
/** Bytes per write. */
const CHUNK_BYTES = 64 * 1024
const WAIT_FIRST_MS = 500
const WAIT_MS_MAX = 30_000
/** How long a stopping daemon waits for the remaining messages to leave. */
const STOP_MS = 2_000
const STOP_LOOK_MS = 20

export interface ForwardLosses {
  /** Messages that were dropped without having been sent. */
  readonly unforwarded: number
  /** Messages that were on their way when the connection broke: syslog has no receipts. */
  readonly uncertain: number
}

/** Reported once per change. */
export type ServerState = { readonly isReached: true } | { readonly isReached: false; readonly reason: string }

/**
 * Sends messages to a syslog server, each at most once, in order. Callers never wait: messages that the server does not
 * accept are kept in memory, and counted as lost beyond its bounds.
 */
export class Forwarder {
  readonly #tell: (state: ServerState) => void
  readonly #bytesMax: number
  #address: SyslogAddress | undefined
  #connection: SyslogConnection | undefined
  #again: NodeJS.Timeout | undefined
  #wait_ms = WAIT_FIRST_MS
  #chunks: Chunk[] = []
  #bytes = 0
  #messages = 0
  #unforwarded: number
  #uncertain: number
  #isDown = false
  /** Whether the last report was that the server cannot be reached. */
  #isTold = false
  #isStopped = false

  /** `before` are the losses left by the previous process if it was killed. */
  constructor(tell: (state: ServerState) => void, before: ForwardLosses, bytesMax = WAITING_BYTES_MAX) {
    this.#tell = tell
    this.#unforwarded = before.unforwarded
    this.#uncertain = before.uncertain
    this.#bytesMax = bytesMax
  }

  get losses(): ForwardLosses {
    return { unforwarded: this.#unforwarded, uncertain: this.#uncertain }
  }

  /** Number of waiting messages. */
  get waiting(): number {
    return this.#messages
  }

  /** Sets the server. undefined: there is none, and all waiting messages are lost. */
  direct(address: SyslogAddress | undefined): void {
    // Most applies do not change the server.
    if (isDeepStrictEqual(address, this.#address)) return
    this.#address = address
    clearTimeout(this.#again)
    this.#again = undefined
    this.#wait_ms = WAIT_FIRST_MS
    this.#isDown = false
    const before = this.#connection
    this.#connection = undefined
    void before?.close()
    if (address !== undefined) return this.#connect()
    this.#unforwarded += this.#messages
    this.#chunks = []
    this.#messages = 0
    this.#bytes = 0
  }

  /** Adds framed messages, oldest first. */
  add(frames: readonly string[]): void {
    let [some, length]: [string[], number] = [[], 0]
    const end = () => {
      if (some.length > 0) this.#chunks.push({ text: some.join(''), messages: some.length })
      some = []
      length = 0
    }
    for (const frame of frames) {
      if (this.#bytes + frame.length > this.#bytesMax) {
        this.#unforwarded++
        continue
      }
      some.push(frame)
      this.#messages++
      length += frame.length
      this.#bytes += frame.length
      if (length >= CHUNK_BYTES) end()
    }
    end()
    this.#connection?.wake()
  }

  #connect(): void {
    if (this.#address === undefined || this.#isStopped) return
    let isReached = false
    const connection = new SyslogConnection(this.#address, {
      next: () => {
        const chunk = this.#chunks.shift()
        this.#bytes -= chunk?.text.length ?? 0
        this.#messages -= chunk?.messages ?? 0
        return chunk
      },
      ready: () => {
        isReached = true
        this.#wait_ms = WAIT_FIRST_MS
        if (this.#isTold) this.#tell({ isReached: true })
        this.#isDown = false
        this.#isTold = false
      },
      ended: (reason, uncertain, hung) => {
        this.#uncertain += uncertain
        // A lost connection is not reported if the next one succeeds at once: servers close idle connections, and
        // restart.
        if (this.#connection === connection) this.#tryAgain(isReached && !hung ? undefined : reason)
      },
    })
    this.#connection = connection
  }

  #tryAgain(reason: string | undefined): void {
    this.#connection = undefined
    if (this.#isStopped) return
    if (reason !== undefined && !this.#isDown) {
      this.#tell({ isReached: false, reason })
      this.#isDown = true
      this.#isTold = true
    }
    this.#again = setTimeout(() => this.#connect(), this.#wait_ms)
    this.#wait_ms = Math.min(WAIT_MS_MAX, this.#wait_ms * 2)
  }

  /** Sends for a moment. Messages that are left still count as waiting. */
  async stop(): Promise<void> {
    const until = Date.now() + STOP_MS
    while (this.#connection?.isReady === true && this.#bytes > 0 && Date.now() < until)
      await new Promise((resolve) => setTimeout(resolve, STOP_LOOK_MS))
    this.#isStopped = true
    clearTimeout(this.#again)
    await this.#connection?.close()
  }
}
