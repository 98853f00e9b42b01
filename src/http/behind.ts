import type { ClientRequest, IncomingMessage } from 'node:http'
import type { HttpResponse } from 'uWebSockets.js'
import { ApiError } from '../base/errors.ts'
import { http } from '../base/http.ts'
import { type Answer, BODILESS, failure, isEventStream } from './envelope.ts'
import type { Exchange } from './exchange.ts'
import { FRONT_HEADER, KEEP_HEADER, readKeep } from './fronted-exchange.ts'
import type { AnswerMemory, Wish } from './answer-memory.ts'
import { HAS_BODY } from './incoming.ts'
import { relay, relayWhole } from './relaying.ts'
import { begin, LARGE_BODY_BYTES, send } from './sending.ts'

/** uWebSockets.js ends a connection after ten idle seconds; a connection about to end must not be reused. */
const IDLE_MS = 5_000
const IDLE_MAX = 64
/** The thread behind knows the limit of each endpoint, and ends bodies that are too large or too slow. */
const BODY_BYTES_MAX = 2 ** 36

/** Headers that apply to one connection, that are written anew, or that no client may send. */
const OWN_OF_REQUESTS = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'trailer',
  'upgrade',
  'expect',
  FRONT_HEADER,
])
/**
 * Node would change the case of other methods, which makes them different methods, and treats the answer to CONNECT as
 * the end of HTTP.
 */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'])
const NO_METHOD = 'UNKNOWN'
const OWN_OF_ANSWERS = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'content-type',
  'date',
  'x-request-id',
  KEEP_HEADER,
])

const TOO_LONG = failure(new ApiError('MALFORMED_REQUEST', 'The headers are too long'))
const UNPRINTABLE = failure(new ApiError('MALFORMED_REQUEST', 'A header contains characters that are not allowed'))

/** Client of the thread behind, which answers what a thread in front does not remember. */
export class Behind {
  readonly #socketPath: string
  readonly #memory: AnswerMemory
  /** Ids for requests that are refused here. */
  readonly #nextId: () => string
  readonly #agent = new http.Agent({ keepAlive: true, timeout: IDLE_MS, maxFreeSockets: IDLE_MAX })

  constructor(socketPath: string, memory: AnswerMemory, nextId: () => string) {
    this.#socketPath = socketPath
    this.#memory = memory
    this.#nextId = nextId
  }

  /** Forwards a client's request and sends the answer. */
  ask(response: HttpResponse, exchange: Exchange, wish: Wish | undefined): void {
    const over = exchange.owes()
    response.onAborted(() => exchange.abort())
    let asked: ClientRequest
    try {
      asked = this.#begin(exchange)
    } catch {
      exchange.release()
      over()
      response.cork(() => send(response, UNPRINTABLE, this.#nextId(), exchange))
      return
    }
    if (isWithBody(exchange)) exchange.streamBody(BODY_BYTES_MAX).pipe(asked)
    else asked.end()
    // So that a caller without the right is refused before it sends a body.
    asked.flushHeaders()
    exchange.release()
    let isAnswered = false
    asked.on('response', (message) => {
      isAnswered = true
      // The rest of a refused body is not sent.
      message.on('end', () => asked.writableEnded || asked.destroy())
      this.#answered(response, exchange, message, wish, over)
    })
    asked.on('error', () => undefined)
    // The thread behind ends the connection if the client may send no more, or gets no answer.
    asked.on('close', () => {
      if (isAnswered) return
      over()
      if (!exchange.aborted) response.close()
    })
  }

  /** Throws if a header has characters that are not allowed. */
  #begin(exchange: Exchange): ClientRequest {
    const { path, query, signal } = exchange
    const method = METHODS.has(exchange.method) ? exchange.method : NO_METHOD
    const [socketPath, agent, headers] = [this.#socketPath, this.#agent, headersBehind(exchange)]
    const asked = inPath(query === '' ? path : `${path}?${query}`)
    return http.request({ socketPath, agent, method, headers, signal, path: asked })
  }

  /** Open connections end when they become idle. */
  close(): void {
    this.#agent.destroy()
  }

  /** Calls `over` once the answer is sent, or once something else counts it as owed. */
  #answered(
    response: HttpResponse,
    exchange: Exchange,
    message: IncomingMessage,
    wish: Wish | undefined,
    over: () => void,
  ): void {
    // The code that reads the message gets the error as well.
    message.on('error', () => undefined)
    const answer = answerOf(message)
    const requestId = String(message.headers['x-request-id'])
    const length = Number(message.headers['content-length'] ?? Number.NaN)
    const reply = (use: () => void) => {
      exchange.endReading()
      if (!exchange.aborted) response.cork(use)
      over()
    }
    // The answer is not the pipeline's: uWebSockets.js has refused the request.
    if (message.headers['x-request-id'] === undefined) {
      message.resume()
      reply(() => send(response, TOO_LONG, this.#nextId(), exchange))
      return
    }
    if (exchange.method === 'HEAD' || BODILESS.has(answer.status)) {
      message.resume()
      // An answer without a length is one that lasts.
      const told = Number.isNaN(length) && !BODILESS.has(answer.status) ? { relayed: message } : { length }
      reply(() => send(response, { ...answer, ...told }, requestId, exchange))
      return
    }
    // After a body whose end is unclear the connection has to end, and only a whole answer can do that.
    if (length < LARGE_BODY_BYTES || (exchange.isUnclear && length >= 0)) {
      void bodyOf(message, length).then(
        (body) => {
          const whole = { ...answer, body }
          const keep = message.headers[KEEP_HEADER]
          if (wish !== undefined && typeof keep === 'string') this.#memory.learn(wish, whole, readKeep(keep))
          reply(() => send(response, whole, requestId, exchange))
        },
        () => {
          over()
          if (!exchange.aborted) response.close()
        },
      )
      return
    }
    reply(() => {
      begin(response, answer, requestId, exchange)
      const ended = isEventStream(answer.contentType) ? () => undefined : exchange.owes()
      exchange.onGone(
        Number.isNaN(length) ? relay(response, message, ended) : relayWhole(response, message, length, ended),
      )
    })
  }
}

/** A body is announced only if one follows: the next request on the connection may be another client's. */
const isWithBody = (exchange: Exchange): boolean => HAS_BODY.has(exchange.method) && !exchange.isAmbiguous

function headersBehind(exchange: Exchange): string[] {
  const isFramed = isWithBody(exchange) && exchange.hasLength
  const own = exchange.sentHeaders.filter(
    ([name]) => !OWN_OF_REQUESTS.has(name) && (isFramed || name !== 'content-length'),
  )
  // Without a length, Node would announce a chunked body.
  const isEmpty = HAS_BODY.has(exchange.method) && (exchange.isAmbiguous || !(isFramed || exchange.isUnclear))
  return [
    ...own.flatMap(([name, value]) => [name, inHeader(value)]),
    ...(isEmpty ? ['content-length', '0'] : []),
    FRONT_HEADER,
    exchange.isAmbiguous ? `${exchange.address} ambiguous` : exchange.address,
  ]
}

/** Node accepts only printable characters of one byte. */
const inPath = (text: string) => text.replaceAll(/[^\x21-\x7e]+/gu, (some) => encodeURIComponent(some))
const inHeader = (text: string) => (/^[\t\x20-\x7e]*$/.test(text) ? text : Buffer.from(text).toString('latin1'))

function answerOf({ statusCode: status = 502, rawHeaders, headers }: IncomingMessage): Answer {
  const contentType = String(headers['content-type'])
  let head = contentType
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    if (!OWN_OF_ANSWERS.has(String(rawHeaders[at]).toLowerCase()))
      head += `\r\n${rawHeaders[at]}: ${rawHeaders[at + 1]}`
  return { status, contentType, headers: {}, head, body: '' }
}

async function bodyOf(message: IncomingMessage, length: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of message as AsyncIterable<Uint8Array>) pieces.push(piece)
  const [first] = pieces
  const body = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)
  if (body.length !== length) throw new Error('the main thread ended in the middle of its answer')
  return body
}
