import type { LiveView } from '../context/figures.ts'
import type { Rendered } from '../context/rendered.ts'
import type { JsonBuffer } from '../base/json-buffer.ts'
import type { LivePiece } from './live-plan.ts'

/** An answer with its tag and compressed forms, kept while the bytes stay the same, as in quiet seconds. */
interface KeptAnswer {
  readonly answer: Rendered<Uint8Array>
  /** The last tick that brought these bytes. */
  sequence: number
}

/** Views kept rendered for one tick. A poller requests few; ids that are requested once must not fill the memory. */
const VIEWS_MAX = 256

/** Live answers and their plans, each made at most once per tick and view. */
export class KeptAnswers {
  readonly #nonce: string
  readonly #plans = new Map<string, readonly LivePiece[] | undefined>()
  readonly #answers = new Map<string, KeptAnswer>()
  #version = -1
  #states = -1

  constructor(nonce: string) {
    this.#nonce = nonce
  }

  /** Called before the tick after `sequence`: an answer that was not requested during that tick is dropped. */
  drop(sequence: number): void {
    for (const [key, kept] of this.#answers) if (kept.sequence !== sequence) this.#answers.delete(key)
  }

  /**
   * Returns the answer for a view at the tick `sequence`, with the names of `version` and the states of `states`, which
   * are revisions of the running configuration. `plan` returns the parts of the view (`undefined` when the id is
   * unknown), `write` renders them.
   */
  answer(
    view: LiveView,
    {
      sequence,
      version,
      states = 0,
    }: { readonly sequence: number; readonly version: number; readonly states?: number },
    plan: () => readonly LivePiece[] | undefined,
    write: (plan: readonly LivePiece[]) => JsonBuffer,
  ): Rendered<Uint8Array> | undefined {
    if (this.#version !== version) {
      this.#version = version
      this.#plans.clear()
      this.#answers.clear()
    }
    if (this.#states !== states) {
      this.#states = states
      this.#answers.clear()
    }
    const key = 'id' in view ? `${view.kind}/${view.id}` : view.kind
    const kept = this.#answers.get(key)
    if (kept?.sequence === sequence) return kept.answer
    const pieces = this.#plan(key, plan)
    if (pieces === undefined) return undefined
    const out = write(pieces)
    if (kept !== undefined && out.equals(kept.answer.body)) {
      kept.sequence = sequence
      return kept.answer
    }
    const answer = { body: out.take(), etag: `"${this.#nonce}-${sequence}-${Math.max(version, states)}"` }
    if (this.#answers.size >= VIEWS_MAX) this.#answers.clear()
    this.#answers.set(key, { answer, sequence })
    return answer
  }

  #plan(key: string, make: () => readonly LivePiece[] | undefined): readonly LivePiece[] | undefined {
    const known = this.#plans.get(key)
    if (known !== undefined) return known
    const plan = make()
    if (plan === undefined) return undefined
    if (this.#plans.size >= VIEWS_MAX) this.#plans.clear()
    this.#plans.set(key, plan)
    return plan
  }
}

const [COMMA, CLOSE] = [0x2c, 0x7d] as const

/** Writes the envelope around the pieces of a view; `element` writes one object without its closing brace. */
export function writePieces<E>(
  out: JsonBuffer,
  message: string,
  plan: readonly (Uint8Array | readonly E[])[],
  element: (element: E) => void,
): void {
  out.clear()
  out.text(`{"status":"success","message":${JSON.stringify(message)},"data":`)
  for (const piece of plan) {
    if (piece instanceof Uint8Array) {
      out.raw(piece)
      continue
    }
    for (const [index, each] of piece.entries()) {
      if (index > 0) out.byte(COMMA)
      element(each)
      out.byte(CLOSE)
    }
  }
  out.byte(CLOSE)
}
