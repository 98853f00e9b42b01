import { Readable } from 'node:stream'
import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { LOCAL_ROOT } from '../auth/local-root.ts'
import { ApiError } from '../base/errors.ts'
import { validity } from '../base/validity.ts'
import type { Keep } from './answer-memory.ts'
import { tooLarge } from './body.ts'
import type { Answer } from './envelope.ts'
import { type Framing, framingOf } from './framing.ts'
import type { Incoming } from './incoming.ts'
import type { Owed } from './owed.ts'
import { Unsent } from './unsent.ts'

/**
 * A whole body has to arrive in this time, a large one in more; a client that drips bytes would hold memory for ever.
 */
const BODY_TIMEOUT_MS = 30_000
const BODY_BYTES_PER_MS_MIN = 256
/** Bytes of all bodies that are still arriving; the excess of a large one has a place of its own (`mayBeLarge`). */
const coming = new Unsent()
const COUNTED_BYTES_MAX = 1_024 * 1_024

/** What an answer has to know of where its request came in. */
export interface ListenerState {
  readonly isDraining: boolean
  /** Headers that every answer of this listener has: lines behind another one. */
  readonly commonHead: string
  /** Ends each answer that has no end of its own. */
  readonly endless: Set<() => void>
  readonly owed: Owed
  /** It is the daemon's own socket: connections have no address, and come from root. */
  readonly isLocal: boolean
}

/** One answer per request, whatever happens: late and second answers are dropped, an aborted one is never written. */
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
  /** Resuming an exchange that was not paused would not read the next request of its connection. */
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

  /** Lines behind those of the answer. */
  headBehind(_answer: Answer): string {
    return this.#listener.commonHead
  }

  /** Read here, before anything is waited for: what changes meanwhile is not in the answer. */
  letKeep(untilOf: () => number): void {
    this.#keep = { answers: validity.answers, rights: validity.rights, untilOf }
  }

  /** undefined: the answer is nobody else's. */
  get keep(): Keep | undefined {
    return this.#keep
  }

  /** The connection ends with this answer. */
  get isLast(): boolean {
    return this.#listener.isDraining || this.isUnclear
  }

  /**
   * A proxy in front of us may have another opinion of where this request ends (uWebSockets.js is lenient with chunks),
   * and what follows could be somebody else's.
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

  /** The client is gone: nothing of it may be touched any more. */
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
    this.#address ??= this.aborted ? '' : new TextDecoder().decode(this.#response.getRemoteAddressAsText())
    return this.#address
  }

  header(name: string): string {
    return this.#request?.getHeader(name) ?? ''
  }

  /** Every header as it was sent: names in lower case, each before its value. */
  get sentHeaders(): readonly (readonly [name: string, value: string])[] {
    const all: [string, string][] = []
    this.#request?.forEach((name, value) => all.push([name, value]))
    return all
  }

  /** A body follows, of a length that the headers say. */
  get hasLength(): boolean {
    return this.#framing === 'length'
  }

  /** An answer without an end of its own can be ended by this; answers what tells that it has ended. */
  lasts(end: () => void): () => void {
    const { endless } = this.#listener
    endless.add(end)
    return () => void endless.delete(end)
  }

  /** An answer that takes time is owed until what this answers is called. `cut` ends it before it is whole. */
  owes(cut?: () => void): () => void {
    return this.#listener.owed.begin(cut)
  }

  /** What to do when the client leaves before its answer is complete. */
  onGone(gone: () => void): void {
    this.#ended = gone
    this.#response.onAborted(() => this.abort())
  }

  get isAmbiguous(): boolean {
    return this.#framing === 'ambiguous'
  }

  /** uWebSockets.js takes the request back when the handler returns. */
  release(): void {
    this.#request = undefined
  }

  /** Rejects when the client leaves before all of it has come: the waiting code holds a place. */
  readBody(bytes_max: number): Promise<Uint8Array | undefined> {
    // The address cannot be asked for once the socket is gone.
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
        reject(new ApiError('MALFORMED_REQUEST', 'The body did not come to its end'))
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

  /** Reads no faster than somebody takes it. */
  streamBody(bytes_max: number): Readable {
    let size = 0
    const deadline = this.#closeUnless(bytes_max)
    const body = new Readable({
      read: () => this.#flow('resume'),
      destroy: (error, callback) => {
        clearTimeout(deadline)
        // What still comes is let go, so that the connection can be used again.
        this.#flow('resume')
        callback(error)
      },
    })
    // It may fail before somebody reads it.
    body.on('error', () => undefined)
    this.#body = body
    this.#ended = () => body.destroy(new Error('the client went away'))
    this.#response.onData((chunk, last) => {
      size += chunk.byteLength
      if (body.destroyed) return
      if (size > bytes_max) body.destroy(tooLarge(bytes_max))
      else if (chunk.byteLength > 0 && !body.push(Buffer.from(Buffer.from(chunk))) && !last) this.#flow('pause')
      if (last) body.push(null)
    })
    return body
  }

  /** An answer is about to be sent: what still comes is for nobody. */
  endReading(): void {
    this.#body?.destroy()
  }

  #flow(how: 'pause' | 'resume'): void {
    const isPaused = how === 'pause'
    if (this.aborted || isPaused === this.#isPaused) return
    this.#isPaused = isPaused
    this.#response[how]()
  }

  /** A body that takes longer than it may ends the connection. */
  #closeUnless(bytes_max: number): NodeJS.Timeout {
    const close = () => {
      if (!this.aborted) this.#response.close()
    }
    return setTimeout(close, BODY_TIMEOUT_MS + bytes_max / BODY_BYTES_PER_MS_MIN)
  }
}
