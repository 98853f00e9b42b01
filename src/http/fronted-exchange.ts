import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { isKeepable, type Keep } from './answer-memory.ts'
import type { Answer } from './envelope.ts'
import { Exchange, type ListenerState } from './exchange.ts'

/** In a request: the address of its client, followed by `ambiguous` if its framing was unclear. */
export const FRONT_HEADER = 'x-fulcrum-front'
/** In an answer: what `keepText` writes. */
export const KEEP_HEADER = 'x-fulcrum-keep'

const keepText = ({ answers, rights, untilOf }: Keep): string => `${answers} ${rights} ${untilOf()}`

export function readKeep(text: string): Keep {
  const [answers = Number.NaN, rights = Number.NaN, until_ms = Number.NaN] = text.split(' ').map(Number)
  return { answers, rights, untilOf: () => until_ms }
}

/** A request that a thread in front has not answered itself. */
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

  /** What the thread in front writes can be read in one way, and the rest of a body that is refused is let go. */
  override get isUnclear(): boolean {
    return this.#isAmbiguous
  }

  override headBehind(answer: Answer): string {
    return this.keep === undefined || !isKeepable(answer) ? '' : `\r\n${KEEP_HEADER}: ${keepText(this.keep)}`
  }
}
