import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { type Framing, framingOf } from './framing.ts'
import type { Incoming } from './incoming.ts'

/** A whole body has to arrive in this time, a large one in more; a client that drips bytes would hold memory for ever. */
const BODY_TIMEOUT_MS = 30_000
const BODY_BYTES_PER_MS_MIN = 256

/** What an answer has to know of where its request came in. */
export interface ListenerState {
  readonly isDraining: boolean
  /** Headers that every answer of this listener has: lines behind another one. */
  readonly commonHead: string
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

  get commonHead(): string {
    return this.#listener.commonHead
  }

  /** The connection ends with this answer. */
  get isLast(): boolean {
    return this.#listener.isDraining || this.isUnclear
  }

  /**
   * A proxy in front of us may have another opinion of where this request ends (uWebSockets.js is lenient with chunks), and
   * what follows could be somebody else's.
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
    this.#ended()
  }

  get address(): string {
    this.#address ??= this.aborted ? '' : new TextDecoder().decode(this.#response.getRemoteAddressAsText())
    return this.#address
  }

  header(name: string): string {
    return this.#request?.getHeader(name) ?? ''
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

  readBody(bytes_max: number): Promise<Uint8Array | undefined> {
    // The address cannot be asked for once the socket is gone.
    void this.address
    return new Promise((resolve) => {
      const chunks: Buffer[] = []
      let size = 0
      const deadline = setTimeout(
        () => {
          if (!this.aborted) this.#response.close()
        },
        BODY_TIMEOUT_MS + bytes_max / BODY_BYTES_PER_MS_MIN,
      )
      this.#ended = () => clearTimeout(deadline)
      this.#response.onData((chunk, last) => {
        size += chunk.byteLength
        if (size <= bytes_max) chunks.push(Buffer.from(Buffer.from(chunk)))
        if (size <= bytes_max && !last) return
        clearTimeout(deadline)
        if (size > bytes_max) resolve(undefined)
        else resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
      })
    })
  }
}
