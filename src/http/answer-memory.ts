import { type Clock, systemClock } from '../base/clock.ts'
import type { Validity } from '../base/validity.ts'
import type { Answer } from './envelope.ts'
import type { Incoming } from './incoming.ts'

/** What an answer may be kept by: both numbers of `Validity`, and when the caller has to be looked at again. */
export interface Keep {
  readonly answers: number
  readonly rights: number
  /** Unix time in ms; looked up only where it is kept. */
  readonly untilOf: () => number
}

/** What a request says of itself. */
export type Wishing = Pick<Incoming, 'method' | 'path' | 'query' | 'header'>

export interface Wish {
  readonly what: string
  readonly caller: string
  /** How it is to be answered. */
  readonly form: string
}

/** What is known of one thing that is asked for. */
interface Known {
  /** Until when each caller may ask; Unix time. */
  readonly callers: Map<string, number>
  readonly forms: Map<string, Answer>
}

/** The longest that an answer is used, should nothing tell that it is another one by now. */
const ANSWERS_MS_MAX = 1_000
const KNOWN_MAX = 256
/** Entries in all; some hundred bytes each. */
const CALLERS_MAX = 16_384
/** Forms of one answer: nobody fills the memory with forms that nobody else wants. */
const FORMS_MAX = 8
/** Bytes of all bodies; those that several forms share are counted with each. */
const BYTES_MAX = 64 * 1_024 * 1_024
/** In characters: longer ones are not worth the memory. */
const TEXT_MAX = 2_048
/** What was asked for once. */
const ASKED_MAX = 4_096

/**
 * Remembers answers that are the same for all callers, as long as figures and names stay the same, and which callers
 * may have them, until somebody loses a right. Both are checked with each request; the path, rights and query of a
 * remembered request are not evaluated again.
 */
export class AnswerMemory {
  readonly #validity: Validity
  readonly #clock: Clock
  readonly #known = new Map<string, Known>()
  /** Asked for since the answers are those: only what is asked for again is worth a place. */
  readonly #asked = new Set<string>()
  #callers = 0
  #bytes = 0
  #ofAnswers = 0
  #ofRights = 0
  #oldest_ms = 0

  constructor(validity: Validity, clock: Clock = systemClock) {
    this.#validity = validity
    this.#clock = clock
  }

  /** undefined: it has to be asked for. */
  find(request: Wishing): Answer | undefined {
    if (request.method !== 'GET') return undefined
    this.#forgetOld()
    if (this.#known.size === 0) return undefined
    const known = this.#known.get(whatOf(request))
    if (known === undefined || known.forms.size === 0 || this.#areTooOld()) return undefined
    const until_ms = known.callers.get(request.header('authorization'))
    if (until_ms === undefined || until_ms <= this.#clock.now_ms() || isSpecial(request)) return undefined
    return known.forms.get(formOf(request))
  }

  /** What it was answered, and how long that counts. */
  learn({ what, caller, form }: Wish, answer: Answer, { answers, rights, untilOf }: Keep): void {
    this.#forgetOld()
    if (this.#areTooOld()) this.#forgetAnswers()
    if (answers !== this.#ofAnswers || rights !== this.#ofRights || !isKeepable(answer)) return
    if (what.length + caller.length + form.length > TEXT_MAX) return
    const known = this.#known.get(what) ?? this.#begin(what)
    if (known === undefined) return
    if (this.#callers >= CALLERS_MAX) this.#forgetCallers()
    if (!known.callers.has(caller)) this.#callers += 1
    known.callers.set(caller, untilOf())
    if (known.forms.size >= FORMS_MAX && !known.forms.has(form)) return
    if (this.#bytes + answer.body.length > BYTES_MAX) this.#forgetAnswers()
    this.#bytes += answer.body.length
    known.forms.set(form, answer)
  }

  #begin(what: string): Known | undefined {
    if (!this.#asked.has(what)) {
      if (this.#asked.size < ASKED_MAX) this.#asked.add(what)
      return undefined
    }
    if (this.#known.size >= KNOWN_MAX) {
      this.#known.clear()
      this.#callers = 0
    }
    const known: Known = { callers: new Map(), forms: new Map() }
    this.#known.set(what, known)
    return known
  }

  #forgetOld(): void {
    const { answers, rights } = this.#validity
    if (answers !== this.#ofAnswers) {
      this.#ofAnswers = answers
      this.#forgetAnswers()
    }
    if (rights !== this.#ofRights) {
      this.#ofRights = rights
      this.#forgetCallers()
    }
  }

  #areTooOld(): boolean {
    return this.#clock.monotonic_ms() - this.#oldest_ms > ANSWERS_MS_MAX
  }

  #forgetAnswers(): void {
    this.#oldest_ms = this.#clock.monotonic_ms()
    this.#bytes = 0
    this.#asked.clear()
    for (const { forms } of this.#known.values()) forms.clear()
  }

  #forgetCallers(): void {
    for (const { callers } of this.#known.values()) callers.clear()
    this.#callers = 0
  }
}

/** What a request wishes; undefined when its answer may depend on more than that. */
export function wishOf(request: Wishing): Wish | undefined {
  if (request.method !== 'GET' || isSpecial(request)) return undefined
  return { what: whatOf(request), caller: request.header('authorization'), form: formOf(request) }
}

const whatOf = ({ path, query }: Wishing) => (query === '' ? path : `${path}?${query}`)

/**
 * A transaction, or a position that a client wants to have seen, is looked up; a client that has the answer already
 * gets none.
 */
const isSpecial = (request: Wishing) =>
  request.header('if-none-match') !== '' ||
  request.header('x-transaction-id') !== '' ||
  request.header('x-fulcrum-sequence') !== ''

function formOf(request: Wishing): string {
  const [accept, encoding] = [request.header('accept'), request.header('accept-encoding')]
  return accept === '' ? encoding : `${encoding}\n${accept}`
}

/** Whether another request may be answered with it. */
export function isKeepable({ status, isTransient, hold, slices, stream, relayed, isOfNow }: Answer): boolean {
  const isBrief = isTransient === true && hold === undefined
  return status === 200 && !isBrief && isOfNow !== true && (slices ?? stream ?? relayed) === undefined
}
