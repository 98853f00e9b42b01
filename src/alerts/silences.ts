import type { SharedTable } from '../../storage/config/config-store.ts'
import { ApiError } from '../base/errors.ts'
import type { Clock } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import type { Silence } from '../model/alerts.ts'
import { fitsName } from '../rules/alerts.ts'
import type { Alert } from './alert-book.ts'

const SILENCES_MAX = 500

/** What all nodes of the cluster keep quiet, until when and why. */
export class Silences {
  readonly #table: SharedTable
  readonly #clock: Pick<Clock, 'now_ms'>
  #all: readonly Silence[] = []

  constructor(table: SharedTable, clock: Pick<Clock, 'now_ms'>) {
    this.#table = table
    this.#clock = clock
    table.follow(() => this.#read())
    this.#read()
  }

  #read(): void {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `begin` only
    this.#all = this.#table.entries().map(({ value }) => value as Silence)
  }

  /** Those that have not ended. */
  get all(): readonly Silence[] {
    const now = this.#now()
    return this.#all.some(({ endsAt }) => endsAt <= now) ? this.#all.filter(({ endsAt }) => endsAt > now) : this.#all
  }

  of({ ruleId, object }: Pick<Alert, 'ruleId' | 'object'>): Silence | undefined {
    if (this.#all.length === 0) return undefined
    return this.all.find(
      (one) =>
        (one.ruleId === null || one.ruleId === ruleId) &&
        (one.objectId === null || one.objectId === object.id) &&
        (one.objectName === null || fitsName(one.objectName, object.name)),
    )
  }

  /** Those that have ended go with the next one that begins. */
  async begin(asked: Omit<Silence, 'id' | 'startedAt'>): Promise<string> {
    const silence: Silence = { ...asked, id: newId(), startedAt: this.#now() }
    await this.#table.update(() => {
      const now = this.#now()
      const ended = this.#all.filter(({ endsAt }) => endsAt <= now).map(({ id }) => id)
      if (this.#all.length - ended.length >= SILENCES_MAX)
        throw new ApiError('LIMIT_REACHED', `There are ${SILENCES_MAX} silences already; end one first`)
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

  #now = (): string => new Date(this.#clock.now_ms()).toISOString()
}
