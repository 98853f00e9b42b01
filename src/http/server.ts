import { App, type HttpRequest, type HttpResponse, type TemplatedApp } from 'uWebSockets.js'
import { ApiError } from '../errors.ts'
import { type Answer, failure, headOf } from './envelope.ts'
import { behindWhatCame, type Framing, framingOf, UNWANTED_BODY } from './framing.ts'
import { STREAMS_MAX, Streams } from './streams.ts'
import { LARGE_BODY_BYTES, LONG_ANSWERS_MAX, LongAnswers, sendLarge } from './long-answers.ts'
import { freePlace, opened, stopListening } from './listening.ts'
import type { Incoming } from './incoming.ts'
import { STATUS_LINES } from './status-lines.ts'
import { type Tls, TlsFront } from './tls-front.ts'

export interface Listener {
  readonly host: string
  readonly port: number
  /** Shows another certificate from the next connection on; the answer takes it back. Throws when it cannot be shown. */
  present(tls: Tls): () => void
  /** Takes no new connections; each open one ends with its next answer. */
  drain(): void
  /** Ends every connection at once. */
  close(): void
}

export type Handler = (incoming: Incoming, requestId: string) => Answer | Promise<Answer>

/** A whole body has to arrive in this time, a large one in more; a client that drips bytes would hold memory for ever. */
const BODY_TIMEOUT_MS = 30_000
const BODY_BYTES_PER_MS_MIN = 256

/** Unique in this process and, by its prefix, across restarts. */
export function requestIds(prefix: string): () => string {
  let count = 0
  return () => `${prefix}-${(count++).toString(36)}`
}

export interface ListenOptions {
  /** Another listener of this process has the port, on this or every address, and is about to give it up. */
  readonly isHandover?: boolean
}

/** Opens one listening socket. Refuses when the address is taken by anybody else. */
export async function listen(
  address: { readonly host: string; readonly port: number },
  tls: Tls | undefined,
  handle: Handler,
  nextId: () => string,
  { isHandover = false }: ListenOptions = {},
): Promise<Listener> {
  // Every listener may share its port, or it could not be handed over; a stranger's port is found out beforehand.
  const place = isHandover ? address : await freePlace(address)
  const state = { isDraining: false }
  const answer = (app: TemplatedApp) =>
    app.any('/*', (response, request) => serve(response, request, handle, nextId(), state))
  const front = tls === undefined ? undefined : new TlsFront(tls, answer)
  const app = front?.acceptor ?? answer(App())
  const socket = await opened(app, place)
  return {
    ...place,
    present(other) {
      if (front === undefined) throw new Error('plain HTTP shows no certificate')
      return front.present(other)
    },
    drain() {
      if (!state.isDraining) stopListening(socket)
      state.isDraining = true
    },
    close: () => (front ?? app).close(),
  }
}

interface ListenerState {
  readonly isDraining: boolean
}

/** One answer per request, whatever happens: late and second answers are dropped, an aborted one is never written. */
class Exchange implements Incoming {
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

/** Of the whole process: all listeners share one event loop. */
const longAnswers = new LongAnswers()
const streams = new Streams()

function serve(
  response: HttpResponse,
  request: HttpRequest,
  handle: Handler,
  requestId: string,
  state: ListenerState,
): void {
  const exchange = new Exchange(response, request, state)
  if (exchange.hasUnwantedBody && exchange.method === 'HEAD') {
    // An answer to HEAD has no body, and uWebSockets.js no way to end the connection behind one.
    response.close()
    return
  }
  const answer = exchange.hasUnwantedBody ? UNWANTED_BODY : handle(exchange, requestId)
  if (!(answer instanceof Promise) && !exchange.isUnclear) {
    write(response, answer, requestId, exchange)
    return
  }
  response.onAborted(() => {
    exchange.abort()
  })
  exchange.release()
  void (exchange.isUnclear ? behindWhatCame(answer) : Promise.resolve(answer)).then((late) => {
    if (!exchange.aborted) response.cork(() => write(response, late, requestId, exchange))
  })
}

function write(response: HttpResponse, wanted: Answer, requestId: string, exchange: Exchange): void {
  const answer = (wanted.slices ?? wanted.stream) === undefined ? wanted : whereRoom(wanted)
  if (answer.status !== 200) response.writeStatus(STATUS_LINES[answer.status] ?? String(answer.status))
  response.writeHeader('Content-Type', `${answer.head ?? headOf(answer)}\r\nX-Request-Id: ${requestId}`)
  if (exchange.method === 'HEAD') writeHead(response, answer)
  else if (answer.slices !== undefined) exchange.onGone(longAnswers.send(response, answer.slices()))
  else if (answer.stream !== undefined) {
    let gone = () => undefined as void
    exchange.onGone(() => gone())
    gone = streams.send(response, answer.stream)
  } else writeBody(response, answer, exchange.isLast, exchange)
}

/** The answer, or a refusal when too many of its kind are being sent. */
function whereRoom(answer: Answer): Answer {
  if (answer.slices !== undefined) return longAnswers.hasRoom ? answer : BUSY
  return streams.hasRoom ? answer : TOO_MANY_STREAMS
}

function writeHead(response: HttpResponse, { slices, stream, body }: Answer): void {
  // uWebSockets.js' own way to say the length of a body that is not sent waits for that body in this version.
  if ((slices ?? stream) === undefined) response.writeHeader('Content-Length', String(Buffer.byteLength(body)))
  response.endWithoutBody()
}

function writeBody(response: HttpResponse, answer: Answer, isLast: boolean, exchange: Exchange): void {
  const { body, isTransient } = answer
  if (body.length < LARGE_BODY_BYTES || typeof body === 'string' || isTransient === true) {
    response.end(body, isLast)
    return
  }
  exchange.onGone(() => undefined)
  sendLarge(response, body)
}

const BUSY = failure(
  new ApiError('RATE_LIMITED', `${LONG_ANSWERS_MAX} long answers are being sent; try again when one has ended`, {
    headers: { 'Retry-After': '1' },
  }),
)

const TOO_MANY_STREAMS = failure(
  new ApiError('RATE_LIMITED', `${STREAMS_MAX} streams are open; close one, or try again later`, {
    headers: { 'Retry-After': '10' },
  }),
)
