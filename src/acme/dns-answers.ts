import type { MachineClock } from '../base/clock.ts'
import type { AcmeAnswer, AcmeOrder, AcmeProgress } from '../model/acme.ts'
import type { DnsRecords } from './dns-records.ts'
import type { LeftRecords } from './left-records.ts'

const VISIBLE_WITHIN_S = 120
const LOOK_FOR_RECORDS_MS = 5_000

export interface DnsAnswersParts {
  readonly records: Pick<DnsRecords, 'present'>
  /** Returns why a CA might not see the DNS records; undefined if it would. */
  readonly whyInvisible: (
    answers: readonly AcmeAnswer[],
    nameServers?: readonly string[],
  ) => Promise<string | undefined>
  readonly clock: Pick<MachineClock, 'now_ms' | 'monotonic_ms'>
}

/** The progress of the records: new fields for the order, the reason of a failure, or nothing to do yet. */
export type Answered = Pick<AcmeProgress, 'presentedAt_ms' | 'isVisible'> | { readonly reason: string } | 'later'

/** Creates the DNS records that an order needs, and checks until a CA would see them. */
export class DnsAnswers {
  readonly #parts: DnsAnswersParts
  readonly #left: Pick<LeftRecords, 'note'>
  /** When they are checked again, on the monotonic clock. */
  readonly #waitsUntil_ms = new Map<string, number>()

  constructor(parts: DnsAnswersParts, left: Pick<LeftRecords, 'note'>) {
    this.#parts = parts
    this.#left = left
  }

  isWaiting(id: string): boolean {
    return this.#parts.clock.monotonic_ms() < (this.#waitsUntil_ms.get(id) ?? 0)
  }

  forget(isGone: (id: string) => boolean): void {
    for (const id of this.#waitsUntil_ms.keys()) if (isGone(id)) this.#waitsUntil_ms.delete(id)
  }

  async look(order: AcmeOrder, progress: AcmeProgress, answers: readonly AcmeAnswer[]): Promise<Answered> {
    const { clock, whyInvisible } = this.#parts
    const { delay = 0, visibleWithin = VISIBLE_WITHIN_S, nameServers } = order.dns ?? {}
    const now_ms = clock.now_ms()
    const { presentedAt_ms, leftovers = [] } = progress
    if (presentedAt_ms === undefined || presentedAt_ms > now_ms) return this.#present(order, answers, leftovers)
    const since_s = (now_ms - presentedAt_ms) / 1_000
    if (since_s < delay) return this.#later(order.id, (delay - since_s) * 1_000)
    const why = visibleWithin === 0 ? undefined : await whyInvisible(answers, nameServers)
    if (why === undefined) return { isVisible: true }
    if (since_s < delay + visibleWithin) return this.#later(order.id, LOOK_FOR_RECORDS_MS)
    return { reason: `After ${Math.round(since_s)} s, ${why}` }
  }

  async #present(order: AcmeOrder, answers: readonly AcmeAnswer[], leftovers: readonly AcmeAnswer[]) {
    const { clock, records } = this.#parts
    this.#left.note(order, [...leftovers, ...answers])
    const reason = await records.present(order, answers)
    return reason === undefined ? { presentedAt_ms: clock.now_ms() } : { reason }
  }

  #later(id: string, ms: number): 'later' {
    this.#waitsUntil_ms.set(id, this.#parts.clock.monotonic_ms() + Math.min(ms, LOOK_FOR_RECORDS_MS))
    return 'later'
  }
}
