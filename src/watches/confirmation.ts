import type { ConfigStore, Unconfirmed } from '../../storage/config/config-store.ts'
import type { MachineClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Repeated } from '../base/repeated.ts'
import type { ApplyEngine } from '../config/apply.ts'
import { type TakenBack, WentBackAlone } from '../config/take-back.ts'

const LOOK_EVERY_MS = 250
const RETRY_MS = 10_000

export interface ConfirmationParts {
  readonly engine: ApplyEngine
  readonly store: Pick<ConfigStore, 'unconfirmed' | 'journal'>
  readonly clock: MachineClock
  readonly log: Log
  /** Called after each apply that was taken back. */
  readonly onTakenBack: (taken: TakenBack) => Promise<void>
}

/**
 * Takes back an apply that was not confirmed in time. The deadline is in the store, so the end of neither the client
 * nor the daemon cancels it; a restart of the machine does not count as a confirmation. Parts of the machine that could
 * not be brought back to the running configuration, then or after a failed apply, are tried again.
 */
export class Confirmation {
  readonly #engine: ApplyEngine
  readonly #store: Pick<ConfigStore, 'unconfirmed' | 'journal'>
  readonly #clock: MachineClock
  readonly #log: Log
  readonly #looks: Repeated
  readonly #onTakenBack: (taken: TakenBack) => Promise<void>
  #notBefore_ms = 0

  constructor({ engine, store, clock, log, onTakenBack }: ConfirmationParts) {
    this.#engine = engine
    this.#store = store
    this.#clock = clock
    this.#log = log
    this.#onTakenBack = onTakenBack
    this.#looks = new Repeated('confirmation of an apply', () => this.#look(), LOOK_EVERY_MS, log)
  }

  /** Takes back an overdue apply, then watches. */
  start(): Promise<void> {
    this.#looks.start()
    return this.#looks.now()
  }

  close(): void {
    this.#looks.stop()
  }

  async #look(): Promise<void> {
    if (this.#engine.busy || this.#clock.monotonic_ms() < this.#notBefore_ms) return
    const unconfirmed = this.#store.unconfirmed()
    const isOverdue = unconfirmed !== undefined && this.#isOverdue(unconfirmed)
    if (!isOverdue && this.#store.journal() === undefined) return
    this.#notBefore_ms = this.#clock.monotonic_ms() + RETRY_MS
    if (isOverdue) await this.#revert(unconfirmed)
    // Failures are logged there.
    else await this.#engine.converge(() => false)
  }

  async #revert(unconfirmed: Unconfirmed): Promise<void> {
    const { revision, by } = unconfirmed
    this.#log.warn('an apply was not confirmed in time; reverting it', { revision, by })
    try {
      const taken = await this.#engine.revert(unconfirmed)
      if (taken !== undefined) await this.#onTakenBack(taken)
    } catch (error) {
      if (error instanceof WentBackAlone)
        this.#log.warn('too few nodes answer; this machine was reverted alone, until the cluster log decides')
      else this.#log.error('it could not be reverted; this is retried', { revision, reason: String(error) })
    }
  }

  #isOverdue(unconfirmed: Unconfirmed): boolean {
    const deadline = this.#engine.deadlineOf(unconfirmed)
    if (deadline === undefined) return false
    return deadline.bootId !== this.#clock.bootId || this.#clock.uptime_ms() >= deadline.uptime_ms
  }
}
