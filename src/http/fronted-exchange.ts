import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { validity } from '../base/validity.ts'
import { Exchange, type ListenerState } from './exchange.ts'

/** Of a request: the address of its client, and behind it `ambiguous` where its framing was. */
export const FRONT_HEADER = 'x-fulcrum-front'
/** Of an answer: what `keepText` writes. */
export const KEEP_HEADER = 'x-fulcrum-keep'

/** What an answer may be kept by: both numbers of `Validity`, and when the caller has to be looked at again. */
export interface Keep {
  readonly answers: number
  readonly rights: number
  /** Unix time. */
  readonly until_ms: number
}

const keepText = ({ answers, rights, until_ms }: Keep): string => `${answers} ${rights} ${until_ms}`

export function readKeep(text: string): Keep {
  const [answers = Number.NaN, rights = Number.NaN, until_ms = Number.NaN] = text.split(' ').map(Number)
  return { answers, rights, until_ms }
}

/** A request that a thread in front has not answered itself. */
export class FrontedExchange extends Exchange {
  readonly #address: string
  readonly #isAmbiguous: boolean
  #keep: Keep | undefined

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

  /** Read here, before anything is waited for: what changes meanwhile is not in the answer. */
  letKeep(until_ms: number): void {
    this.#keep = { answers: validity.answers, rights: validity.rights, until_ms }
  }

  override get commonHead(): string {
    return this.#keep === undefined ? '' : `\r\n${KEEP_HEADER}: ${keepText(this.#keep)}`
  }
}
