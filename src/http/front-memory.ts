import { type Clock, systemClock } from '../base/clock.ts'
import type { Validity } from '../base/validity.ts'
import type { Answer } from './envelope.ts'
import type { Keep } from './fronted-exchange.ts'
import type { Incoming } from './incoming.ts'

/** The longest that an answer is used, should nothing tell that it is another one by now. */
const ANSWERS_MS_MAX = 1_000
const ANSWERS_MAX = 256
/** Callers with what they have asked for; some hundred bytes each. */
const CALLERS_MAX = 16_384
/** In characters: longer ones are not worth the memory. */
const KEY_MAX = 2_048

export interface Wish {
  /** Who asks for what. */
  readonly caller: string
  /** What is asked for, in which form. */
  readonly answer: string
}

/**
 * What a thread in front remembers: answers that are the same for all who may ask, as long as figures and names are
 * those, and who may ask for what, until somebody may do less. Both are looked at with each request.
 */
export class FrontMemory {
  readonly #validity: Validity
  readonly #clock: Clock
  readonly #answers = new Map<string, Answer>()
  readonly #callers = new Map<string, number>()
  #ofAnswers = 0
  #ofRights = 0
  #oldest_ms = 0

  constructor(validity: Validity, clock: Clock = systemClock) {
    this.#validity = validity
    this.#clock = clock
  }

  /** undefined: the thread behind has to be asked. */
  find({ caller, answer }: Wish): Answer | undefined {
    this.#forgetOld()
    const until_ms = this.#callers.get(caller)
    return until_ms !== undefined && until_ms > this.#clock.now_ms() ? this.#answers.get(answer) : undefined
  }

  /** What the thread behind has answered, and how long that counts. */
  learn({ caller, answer: key }: Wish, answer: Answer, { answers, rights, until_ms }: Keep): void {
    this.#forgetOld()
    if (answers !== this.#ofAnswers || rights !== this.#ofRights) return
    if (caller.length > KEY_MAX || key.length > KEY_MAX) return
    if (this.#callers.size >= CALLERS_MAX) this.#callers.clear()
    this.#callers.set(caller, until_ms)
    if (this.#answers.size >= ANSWERS_MAX) this.#answers.clear()
    if (this.#answers.size === 0) this.#oldest_ms = this.#clock.monotonic_ms()
    this.#answers.set(key, answer)
  }

  #forgetOld(): void {
    const { answers, rights } = this.#validity
    if (answers !== this.#ofAnswers || this.#clock.monotonic_ms() - this.#oldest_ms > ANSWERS_MS_MAX) {
      this.#ofAnswers = answers
      this.#answers.clear()
    }
    if (rights !== this.#ofRights) {
      this.#ofRights = rights
      this.#callers.clear()
    }
  }
}

/** What a request wishes; undefined when its answer may depend on more than that. */
export function wishOf(exchange: Pick<Incoming, 'method' | 'path' | 'query' | 'header'>): Wish | undefined {
  if (exchange.method !== 'GET') return undefined
  if (exchange.header('x-transaction-id') !== '' || exchange.header('x-fulcrum-sequence') !== '') return undefined
  const what = `${exchange.path}?${exchange.query}`
  return {
    caller: `${exchange.header('authorization')}\n${what}`,
    answer: `${exchange.header('accept-encoding')}\n${exchange.header('if-none-match')}\n${what}`,
  }
}
