import { Readable } from 'node:stream'
import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { LOCAL_ROOT } from '../auth/local-root.ts'
import { ApiError } from '../base/errors.ts'
import { clientIp } from '../base/ip-network.ts'
import { validity } from '../base/validity.ts'
import type { Keep } from './answer-memory.ts'
import { tooLarge } from './body.ts'
import type { Answer } from './envelope.ts'
import { type Framing, framingOf } from './framing.ts'
import type { Incoming } from './incoming.ts'
import type { Owed } from './owed.ts'
import { Unsent } from './unsent.ts'

/**
 * Time within which a body must arrive, with more for a large one; a client that drips bytes would hold memory for
 * ever.
 */
const BODY_TIMEOUT_MS = 30_000
const BODY_BYTES_PER_MS_MIN = 256
/**
 * Bytes of all bodies that are still arriving; a large body counts up to `COUNTED_BYTES_MAX` and has a place of its own
 * (`mayBeLarge`).
 */
const coming = new Unsent()
const COUNTED_BYTES_MAX = 1_024 * 1_024

/** The state of a listener that its answers depend on. */
export interface ListenerState {
  readonly isDraining: boolean
  /** Header lines that every answer of this listener has. */
  readonly commonHead: string
  /** Functions that end the open answers without an end of their own. */
  readonly endless: Set<() => void>
  readonly owed: Owed
  /** Whether it is the daemon's own socket: its connections have no address, and come from root. */
  readonly isLocal: boolean
}

/** Ensures one answer per request: late and second answers are dropped, and an aborted request gets none. */
export class Exchange implements Incoming {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly #framing: Framing
  readonly #response: HttpResponse
  #request: HttpRequest | undefined
  #address: string | undefined
  #aborted = false
  #ended: () => void = () => undefined
  #gone: AbortController | undefined
  #body: Readable | undefined
  /** Resuming an exchange that was not paused would stop the next request of its connection from being read. */
  #isPaused = false
  #keep: Keep | undefined

  readonly #listener: ListenerState

  constructor(response: HttpResponse, request: HttpRequest, listener: ListenerState) {
    this.#listener = listener
    this.#response = response
    this.#request = request
    this.method = request.getCaseSensitiveMethod()
    this.path = request.getUrl()
    this.query = request.getQuery() ?? ''
    this.#framing = framingOf(request, this.method)
  }

  /** Returns the header lines that follow those of the answer. */
  headBehind(_answer: Answer): string {
    return this.#listener.commonHead
  }

  /** Reads the numbers now, before any wait: a change during the wait is not in the answer. */
  letKeep(untilOf: () => number): void {
    this.#keep = { answers: validity.answers, rights: validity.rights, untilOf }
  }

  /** Undefined if the answer must not be given to others. */
  get keep(): Keep | undefined {
    return this.#keep
  }

  /** Whether the connection ends with this answer. */
  get isLast(): boolean {
    return this.#listener.isDraining || this.isUnclear
  }

  /**
   * A proxy in front of the daemon may see the end of this request elsewhere (uWebSockets.js is lenient with chunks),
   * and what follows could be another client's.
   */
  get isUnclear(): boolean {
    return this.#framing === 'chunked' || this.isAmbiguous || this.hasUnwantedBody
  }

  get hasUnwantedBody(): boolean {
    return (this.method === 'GET' || this.method === 'HEAD') && this.#framing !== 'no body'
  }

  get aborted(): boolean {
    return this.#aborted
  }

  /** Notes that the client is gone: the response must not be touched any more. */
  abort(): void {
    this.#aborted = true
    this.#gone?.abort()
    this.#ended()
  }

  get signal(): AbortSignal {
    this.#gone ??= new AbortController()
    return this.#gone.signal
  }

  get isLocal(): boolean {
    return this.#listener.isLocal
  }

  get address(): string {
    if (this.isLocal) return LOCAL_ROOT.address
    // The library writes IPv6 addresses with all of their zeros.
    this.#address ??= this.aborted ? '' : clientIp(new TextDecoder().decode(this.#response.getRemoteAddressAsText()))
    return this.#address
  }

  header(name: string): string {
    return this.#request?.getHeader(name) ?? ''
  }

  /** All headers as they were sent: pairs of a lower-case name and its value. */
  get sentHeaders(): readonly (readonly [name: string, value: string])[] {
    const all: [string, string][] = []
    this.#request?.forEach((name, value) => all.push([name, value]))
    return all
  }

  /** Whether a body follows whose length is in the headers. */
  get hasLength(): boolean {
    return this.#framing === 'length'
  }

  /**
   * Registers a function that ends an answer without an end of its own; returns a function to call when it has ended.
   */
  lasts(end: () => void): () => void {
    const { endless } = this.#listener
    endless.add(end)
    return () => void endless.delete(end)
  }

  /** Counts an answer that takes time as owed until the returned function is called. `cut` ends it early. */
  owes(cut?: () => void): () => void {
    return this.#listener.owed.begin(cut)
  }

  /** Calls `gone` if the client leaves before its answer is complete. */
  onGone(gone: () => void): void {
    this.#ended = gone
    this.#response.onAborted(() => this.abort())
  }

  get isAmbiguous(): boolean {
    return this.#framing === 'ambiguous'
  }

  /** uWebSockets.js takes the request object back when the handler returns. */
  release(): void {
    this.#request = undefined
  }

  /** Rejects if the client leaves before the whole body has arrived: the waiting code holds a place. */
  readBody(bytes_max: number): Promise<Uint8Array | undefined> {
    // The address must be read before the socket is gone.
    void this.address
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      let size = 0
      const deadline = this.#closeUnless(bytes_max)
      const held = coming.hold(() => this.#response.close())
      const over = () => {
        clearTimeout(deadline)
        held.end()
      }
      this.#ended = () => {
        over()
        reject(new ApiError('MALFORMED_REQUEST', 'The body is incomplete'))
      }
      this.#response.onData((chunk, last) => {
        size += chunk.byteLength
        if (size <= bytes_max) chunks.push(Buffer.from(Buffer.from(chunk)))
        if (size <= bytes_max && !last) {
          held.moved(Math.min(size, COUNTED_BYTES_MAX))
          return
        }
        over()
        if (size > bytes_max) resolve(undefined)
        else resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
      })
    })
  }

  /** Returns the body as a stream that reads no faster than its consumer. */
  streamBody(bytes_max: number): Readable {
    let size = 0
    const deadline = this.#closeUnless(bytes_max)
    const body = new Readable({
      read: () => this.#flow('resume'),
      destroy: (error, callback) => {
        clearTimeout(deadline)
        // The rest is discarded, so that the connection can be used again.
        this.#flow('resume')
        callback(error)
      },
    })
    // It may fail before anything consumes it.
    body.on('error', () => undefined)
    this.#body = body
    this.#ended = () => body.destroy(new Error('the client closed the connection'))
    this.#response.onData((chunk, last) => {
      size += chunk.byteLength
      if (body.destroyed) return
      if (size > bytes_max) body.destroy(tooLarge(bytes_max))
      else if (chunk.byteLength > 0 && !body.push(Buffer.from(Buffer.from(chunk))) && !last) this.#flow('pause')
      if (last) body.push(null)
    })
    return body
  }

  /** Discards the rest of the body, because an answer is about to be sent. */
  endReading(): void {
    this.#body?.destroy()
  }

  #flow(how: 'pause' | 'resume'): void {
    const isPaused = how === 'pause'
    if (this.aborted || isPaused === this.#isPaused) return
    this.#isPaused = isPaused
    this.#response[how]()
  }

  /** Ends the connection if the body takes longer than it may. */
  #closeUnless(bytes_max: number): NodeJS.Timeout {
    const close = () => {
      if (!this.aborted) this.#response.close()
    }
    return setTimeout(close, BODY_TIMEOUT_MS + bytes_max / BODY_BYTES_PER_MS_MIN)
  }
}
