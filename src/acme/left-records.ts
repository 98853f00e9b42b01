import type { MachineClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { AcmeAnswer, AcmeOrder } from '../model/acme.ts'
import type { ConfigView } from '../model/sections.ts'
import { waitAfter_s } from '../rules/acme.ts'
import type { DnsRecords } from './dns-records.ts'

/** Half a day: after that, the records left behind by a deleted order are reported and given up. */
const TRIES_OF_DELETED = 8

export interface LeftRecordsParts {
  readonly agreed: Pick<ConfigView, 'get'>
  readonly records: Pick<DnsRecords, 'remove'>
  readonly clock: Pick<MachineClock, 'monotonic_ms'>
  readonly log: Pick<Log, 'warn'>
}

/** Removes DNS records that are no longer needed, with growing pauses if a provider does not remove them. */
export class LeftRecords {
  readonly #parts: LeftRecordsParts
  /** When a failed removal is tried again, and after how many failures. */
  readonly #waits = new Map<string, { readonly failures: number; readonly at_ms: number }>()
  /** Records that exist as far as this node knows: a deleted order no longer says what to remove. */
  readonly #known = new Map<string, { readonly order: AcmeOrder; readonly answers: readonly AcmeAnswer[] }>()

  constructor(parts: LeftRecordsParts) {
    this.#parts = parts
  }

  /** Notes records that may exist from now on. */
  note(order: AcmeOrder, answers: readonly AcmeAnswer[]): void {
    if (answers.length === 0) this.#known.delete(order.id)
    else this.#known.set(order.id, { order, answers })
  }

  isDue(id: string): boolean {
    return this.#parts.clock.monotonic_ms() >= (this.#waits.get(id)?.at_ms ?? 0)
  }

  /** Tries the records of this order again at once, despite earlier failures. */
  hurry(id: string): void {
    this.#waits.delete(id)
  }

  /** Removes records and resolves with those that are left. */
  async removed(order: AcmeOrder, answers: readonly AcmeAnswer[]): Promise<readonly AcmeAnswer[]> {
    const { clock, log, records } = this.#parts
    const { left, why } = await records.remove(order, answers)
    this.note(order, left)
    if (why === undefined) {
      this.#waits.delete(order.id)
      return left
    }
    const failures = (this.#waits.get(order.id)?.failures ?? 0) + 1
    this.#waits.set(order.id, { failures, at_ms: clock.monotonic_ms() + waitAfter_s(failures) * 1_000 })
    log.warn('a DNS record could not be removed; this is retried', { order: order.name, reason: why })
    return left
  }

  async removeOfDeleted(signal: AbortSignal): Promise<void> {
    for (const [id, { order, answers }] of this.#known) {
      if (signal.aborted) return
      const now = this.#parts.agreed.get('acmeOrders', id)
      if (now !== undefined && owesNothing(now)) this.#known.delete(id)
      if (now !== undefined || !this.isDue(id)) continue
      const left = await this.removed(order, answers)
      if (left.length > 0 && (this.#waits.get(id)?.failures ?? 0) >= TRIES_OF_DELETED) this.#giveUp(order, left)
    }
    for (const id of this.#waits.keys()) if (this.#isGone(id) && !this.#known.has(id)) this.#waits.delete(id)
  }

  #giveUp(order: AcmeOrder, left: readonly AcmeAnswer[]): void {
    this.#known.delete(order.id)
    const names = [...new Set(left.map(({ name }) => name))].join(', ')
    this.#parts.log.warn('DNS records of a deleted order remain', { order: order.name, names })
  }

  #isGone(id: string): boolean {
    return this.#parts.agreed.get('acmeOrders', id) === undefined
  }
}

/** Whether another node may already have removed what this one created. */
const owesNothing = ({ progress: { answers = [], leftovers = [] } = { of: '' } }: AcmeOrder): boolean =>
  answers.length + leftovers.length === 0
