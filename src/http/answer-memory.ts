import { type Clock, systemClock } from '../base/clock.ts'
import type { Validity } from '../base/validity.ts'
import type { Answer } from './envelope.ts'
import type { Incoming } from './incoming.ts'

/** Conditions for keeping an answer: both numbers of `Validity`, and when the caller must be checked again. */
export interface Keep {
  readonly answers: number
  readonly rights: number
  /** Unix time in ms; called only if the answer is kept. */
  readonly untilOf: () => number
}

/** The part of a request that identifies a remembered answer. */
export type Wishing = Pick<Incoming, 'method' | 'path' | 'query' | 'header'>

export interface Wish {
  readonly what: string
  readonly caller: string
  /** The form of the answer that the client accepts. */
  readonly form: string
}

/** The callers and answers known for one path and query. */
interface Known {
  /** Until when each caller has access; Unix time in ms. */
  readonly callers: Map<string, number>
  readonly forms: Map<string, Answer>
}

/** The maximum age of an answer, even if nothing has invalidated it. */
const ANSWERS_MS_MAX = 1_000
const KNOWN_MAX = 256
/** Entries for all answers together, some hundred bytes each. */
const CALLERS_MAX = 16_384
/** Forms of one answer: limits the memory that a client can fill with forms that nobody else requests. */
const FORMS_MAX = 8
/** Bytes of all bodies; a body that several forms share counts once per form. */
const BYTES_MAX = 64 * 1_024 * 1_024
/** In characters of path, query and headers: longer requests are not worth the memory. */
const TEXT_MAX = 2_048
/** Requests that were seen only once. */
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
  /** Requests seen since the answers last changed: only a repeated request is worth a place. */
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

  /** Returns the remembered answer; undefined if the request must be handled. */
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

  /** Remembers the answer to a request, for as long as it is valid. */
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

/** Returns what identifies a request's answer; undefined if the answer may depend on anything else. */
export function wishOf(request: Wishing): Wish | undefined {
  if (request.method !== 'GET' || isSpecial(request)) return undefined
  return { what: whatOf(request), caller: request.header('authorization'), form: formOf(request) }
}

const whatOf = ({ path, query }: Wishing) => (query === '' ? path : `${path}?${query}`)

/**
 * A transaction, or a position in the log that the client has seen, needs a look-up; a client that may have the answer
 * already gets a 304.
 */
const isSpecial = (request: Wishing) =>
  request.header('if-none-match') !== '' ||
  request.header('x-transaction-id') !== '' ||
  request.header('x-fulcrum-sequence') !== ''

function formOf(request: Wishing): string {
  const [accept, encoding] = [request.header('accept'), request.header('accept-encoding')]
  return accept === '' ? encoding : `${encoding}\n${accept}`
}

/** Returns whether another request may get the same answer. */
export function isKeepable({ status, isTransient, hold, slices, stream, relayed, isOfNow }: Answer): boolean {
  const isBrief = isTransient === true && hold === undefined
  return status === 200 && !isBrief && isOfNow !== true && (slices ?? stream ?? relayed) === undefined
}
