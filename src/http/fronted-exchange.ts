import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { isKeepable, type Keep } from './answer-memory.ts'
import type { Answer } from './envelope.ts'
import { Exchange, type ListenerState } from './exchange.ts'

/** In a request: the address of its client, followed by `ambiguous` if the framing was unclear. */
export const FRONT_HEADER = 'x-fulcrum-front'
/** In an answer: the output of `keepText`. */
export const KEEP_HEADER = 'x-fulcrum-keep'

const keepText = ({ answers, rights, untilOf }: Keep): string => `${answers} ${rights} ${untilOf()}`

export function readKeep(text: string): Keep {
  const [answers = Number.NaN, rights = Number.NaN, until_ms = Number.NaN] = text.split(' ').map(Number)
  return { answers, rights, untilOf: () => until_ms }
}

/** A request from a thread in front. */
export class FrontedExchange extends Exchange {
  readonly #address: string
  readonly #isAmbiguous: boolean

  constructor(response: HttpResponse, request: HttpRequest, listener: ListenerState) {
    super(response, request, listener)
    const [address = '', ambiguous] = request.getHeader(FRONT_HEADER).split(' ')
    this.#address = address
    this.#isAmbiguous = ambiguous !== undefined
  }

  override get address(): string {
    return this.#address
  }

  override get isAmbiguous(): boolean {
    return this.#isAmbiguous
  }

  /** Requests from a thread in front are unambiguous, and the rest of a refused body is discarded. */
  override get isUnclear(): boolean {
    return this.#isAmbiguous
  }

  override headBehind(answer: Answer): string {
    return this.keep === undefined || !isKeepable(answer) ? '' : `\r\n${KEEP_HEADER}: ${keepText(this.keep)}`
  }
}
