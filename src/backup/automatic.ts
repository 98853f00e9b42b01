import type { Change } from '../../storage/config/config-store.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { type ConfigView, SECTION_NAMES } from '../model/sections.ts'
import type { Backups } from './backups.ts'
import { madeAt_ms } from '../backup-file/names.ts'
import { reasonOf } from '../base/reason.ts'

/** A change of this many records counts as large, whatever the size of the configuration. */
const MANY = 10
/** Otherwise, a change of this share of all records counts as large, if it is more than one or two records. */
const MUCH_SHARE = 0.1
const FEW = 2
/** Requests that replace whole sections. */
const RESTORES = new Set(['backups.restore', 'revisions.restore'])

const DAY_MS = 86_400_000
const LOOK_EVERY_MS = 3_600_000
/** Delay after a start, which has more urgent work. */
const FIRST_LOOK_MS = 60_000

export interface AutomaticParts {
  readonly backups: Pick<Backups, 'source' | 'keep' | 'automatic'>
  readonly running: ConfigView
  readonly clock: Clock
  readonly log: Log
}

/** Automatic backups: before an apply that changes much, and once a day. */
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

  /** Waits for the write under way. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer)
    await this.#last
  }

  /**
   * Captures the present running configuration and writes it during the apply. Resolves when it is on the disk, with a
   * warning if that failed: an apply does not wait for disk space.
   */
  beforeApply(changes: readonly Change[]): Promise<string | undefined> {
    return changesMuch(changes, this.#parts.running) ? this.#keep('apply') : Promise.resolve(undefined)
  }

  /** Makes the daily backup unless there is one. */
  async daily(): Promise<void> {
    const { backups, clock, log } = this.#parts
    try {
      // A backup with a future date was made before the clock was set back, and does not replace a new one.
      const isOld = (name: string) => Math.abs(clock.now_ms() - madeAt_ms(name)) >= DAY_MS
      if ((await backups.automatic('daily')).every(isOld)) await this.#keep('daily')
    } catch (error) {
      log.warn('the backups could not be checked', { reason: reasonOf(error) })
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
