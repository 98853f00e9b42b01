import type { Clock } from './clock.ts'

export interface KeptAnswerParts<Answer> {
  readonly ask: () => Promise<Answer>
  readonly kept_ms: number
  readonly clock: Pick<Clock, 'monotonic_ms'>
}

/**
 * Caches the answer to a question: however many callers ask, at most one question is under way, and it is asked again
 * once its answer is older than `kept_ms`. A failure is not cached: the next caller asks again.
 */
export class KeptAnswer<Answer> {
  readonly #parts: KeptAnswerParts<Answer>
  #answer: Promise<Answer> | undefined
  #about = ''
  /** When the answer arrived; infinite until then. */
  #since_ms = Number.POSITIVE_INFINITY

  constructor(parts: KeptAnswerParts<Answer>) {
    this.#parts = parts
  }

  /** Also asks again if `about` differs from the last question. */
  get(about = ''): Promise<Answer> {
    const { clock, kept_ms } = this.#parts
    const isOld = clock.monotonic_ms() - this.#since_ms >= kept_ms
    return this.#answer === undefined || isOld || about !== this.#about ? this.#ask(about) : this.#answer
  }

  #ask(about: string): Promise<Answer> {
    const { ask, clock } = this.#parts
    const answer = ask()
    this.#answer = answer
    this.#about = about
    this.#since_ms = Number.POSITIVE_INFINITY
    const isLast = () => this.#answer === answer
    answer.then(
      () => isLast() && (this.#since_ms = clock.monotonic_ms()),
      () => isLast() && (this.#answer = undefined),
    )
    return answer
  }
}
