import type { Change } from '../../storage/config/config-store.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { type ConfigView, SECTION_NAMES } from '../model/sections.ts'
import type { Backups } from './backups.ts'
import { madeAt_ms } from '../backup-file/names.ts'
import { reasonOf } from '../base/reason.ts'

/** The number of records that counts as many, whatever the size of the configuration. */
const MANY = 10
/** Otherwise this part of all records is, unless it is only one or two of them. */
const MUCH_SHARE = 0.1
const FEW = 2
/** Requests that replace whole sections. */
const RESTORES = new Set(['backups.restore', 'revisions.restore'])

const DAY_MS = 86_400_000
const LOOK_EVERY_MS = 3_600_000
/** A start has better things to do. */
const FIRST_LOOK_MS = 60_000

export interface AutomaticParts {
  readonly backups: Pick<Backups, 'source' | 'keep' | 'automatic'>
  readonly running: ConfigView
  readonly clock: Clock
  readonly log: Log
}

/** Backups that nobody asked for: before an apply that changes much, and each day. */
export class AutomaticBackups {
  readonly #parts: AutomaticParts
  #timers: readonly NodeJS.Timeout[] = []
  #last: Promise<unknown> = Promise.resolve()

  constructor(parts: AutomaticParts) {
    this.#parts = parts
  }

  start(): void {
    const look = () => void this.daily()
    this.#timers = [setTimeout(look, FIRST_LOOK_MS).unref(), setInterval(look, LOOK_EVERY_MS).unref()]
  }

  /** Waits for what is being written. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer)
    await this.#last
  }

  /**
   * Takes hold of running now and writes it while the apply goes on. Resolves when that is on the disk, with a warning
   * when it cannot be: an apply does not wait for space.
   */
  beforeApply(changes: readonly Change[]): Promise<string | undefined> {
    return changesMuch(changes, this.#parts.running) ? this.#keep('apply') : Promise.resolve(undefined)
  }

  /** Makes the backup of the day unless there is one. */
  async daily(): Promise<void> {
    const { backups, clock, log } = this.#parts
    try {
      // A backup with a future date was made before the clock was set back: it is no reason to make none.
      const isOld = (name: string) => Math.abs(clock.now_ms() - madeAt_ms(name)) >= DAY_MS
      if ((await backups.automatic('daily')).every(isOld)) await this.#keep('daily')
    } catch (error) {
      log.warn('the backups could not be looked through', { reason: reasonOf(error) })
    }
  }

  #keep(kind: 'apply' | 'daily'): Promise<string | undefined> {
    const { backups, log } = this.#parts
    const source = backups.source()
    const kept = this.#last.then(async () => {
      try {
        await backups.keep(source, kind)
        return undefined
      } catch (error) {
        const warning = `the automatic backup could not be written: ${reasonOf(error)}`
        log.warn(warning)
        return warning
      }
    })
    this.#last = kept
    return kept
  }
}

function changesMuch(changes: readonly Change[], running: ConfigView): boolean {
  if (changes.length >= MANY || changes.some(({ endpoint }) => RESTORES.has(endpoint))) return true
  if (changes.length <= FEW) return false
  const records = SECTION_NAMES.reduce((sum, name) => sum + [...running.list(name)].length, 0)
  return changes.length > records * MUCH_SHARE
}
