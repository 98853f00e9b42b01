import type { SharedTable } from '../../storage/config/config-store.ts'
import { ApiError } from '../base/errors.ts'
import type { Clock } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import type { Silence } from '../model/alerts.ts'
import { nameTest } from '../rules/alerts.ts'
import type { Alert } from './alert-book.ts'

const SILENCES_MAX = 500

interface Open {
  readonly silence: Silence
  readonly fits: (name: string) => boolean
}

/** The silences of all nodes of the cluster. */
export class Silences {
  readonly #table: SharedTable
  readonly #clock: Pick<Clock, 'now_ms'>
  #all: readonly Silence[] = []
  /** Silences that had not ended at `#sifted_ms`, which is valid until the first of them ends. */
  #open: readonly Open[] = []
  #sifted_ms = 0
  #endsFirst_ms = 0

  constructor(table: SharedTable, clock: Pick<Clock, 'now_ms'>) {
    this.#table = table
    this.#clock = clock
    table.follow(() => this.#read())
    this.#read()
  }

  #read(): void {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `begin` only
    this.#all = this.#table.entries().map(({ value }) => value as Silence)
    this.#sift()
  }

  #sift(): void {
    const now_ms = this.#clock.now_ms()
    const open = this.#all.filter(({ endsAt }) => Date.parse(endsAt) > now_ms)
    this.#open = open.map((silence) => ({ silence, fits: nameTest(silence.objectName ?? '*') }))
    this.#sifted_ms = now_ms
    this.#endsFirst_ms = Math.min(...open.map(({ endsAt }) => Date.parse(endsAt)))
  }

  /** Recomputed when one ends, and when the clock was set back. */
  #now(): readonly Open[] {
    const now_ms = this.#clock.now_ms()
    if (now_ms >= this.#endsFirst_ms || now_ms < this.#sifted_ms) this.#sift()
    return this.#open
  }

  /** Silences that have not ended. */
  get all(): readonly Silence[] {
    return this.#now().map(({ silence }) => silence)
  }

  of({ ruleId, object }: Pick<Alert, 'ruleId' | 'object'>): Silence | undefined {
    if (this.#all.length === 0) return undefined
    return this.#now().find(
      ({ silence: { ruleId: rule, objectId }, fits }) =>
        (rule === null || rule === ruleId) && (objectId === null || objectId === object.id) && fits(object.name),
    )?.silence
  }

  /** Begins a silence and removes ended ones. */
  async begin(asked: Omit<Silence, 'id' | 'startedAt'>): Promise<string> {
    const startedAt = new Date(this.#clock.now_ms()).toISOString()
    const silence: Silence = { ...asked, id: newId(), startedAt }
    await this.#table.update(() => {
      const open = new Set(this.all)
      const ended = this.#all.filter((one) => !open.has(one)).map(({ id }) => id)
      if (this.#all.length - ended.length >= SILENCES_MAX)
        throw new ApiError('LIMIT_REACHED', `There are already ${SILENCES_MAX} silences; end one first`)
      return { puts: [{ key: silence.id, value: silence }], removed: ended }
    })
    this.#read()
    return silence.id
  }

  async end(id: string): Promise<void> {
    if (this.all.every((one) => one.id !== id)) throw new ApiError('NOT_FOUND', `There is no silence with id ${id}`)
    await this.#table.remove([id])
    this.#read()
  }
}
