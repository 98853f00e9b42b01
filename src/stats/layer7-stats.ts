import { TIERS } from '../../storage/archive/tiers.ts'
import type {
  ArchiveOptions,
  HaproxyTick,
  HealthChange,
  StatsSource,
  TickMessage,
} from '../../workers/archive/messages.ts'
import type { Clock } from '../base/clock.ts'
import { defer } from '../base/deferred.ts'
import type { Log } from '../base/log.ts'
import { ArchiveSide } from './archive-side.ts'
import { LiveAnswers } from './live.ts'
import type { ObjectNames } from './names.ts'
import type { ArchiveObserver } from './observer.ts'
import type { StatsState } from './state.ts'

export interface Layer7StatsOptions {
  readonly archive: ArchiveOptions<StatsSource>
  readonly names: ObjectNames
  /** Receives the objects of HAProxy's answers, when the names come from them. */
  readonly observer?: ArchiveObserver | undefined
  readonly applianceId: string
  /** Called with the servers that went up or down. */
  readonly onHealth: (changes: readonly HealthChange[]) => void
  readonly log: Log
  readonly clock: Clock
}

/** A tick without an answer of HAProxy. */
const NOTHING = { csv: undefined, rows: undefined, kinds: undefined, statuses: undefined, layout: -1 } as const

/** The statistics of Layer 7: HAProxy's own figures, live and over time. */
export class Layer7Stats extends ArchiveSide<StatsSource, HaproxyTick> {
  readonly live: LiveAnswers
  readonly #options: Layer7StatsOptions
  #sequence = 0
  #state: StatsState
  #tick = defer()

  constructor(options: Layer7StatsOptions) {
    super({ ...options, message: 'Layer 7 history', step_s: 1, tiers: TIERS })
    const { names, clock } = options
    this.#options = options
    this.#state = { up: false, since_ms: clock.now_ms(), reason: 'it has not been queried yet', storage: undefined }
    this.live = new LiveAnswers(names, this.nonce)
  }

  /** Returns whether HAProxy answered the last poll, since when that is so, and the reason if it did not. */
  state(): StatsState {
    return this.#state
  }

  /**
   * Returns the sessions of a real server in each backend that holds it; undefined while HAProxy does not answer.
   * Unlike HAProxy's own figure, the archive's includes sessions that old workers still serve after a reload: those of
   * its last answer, if one of them is too busy to answer.
   */
  sessions(ripId: string): readonly (number | undefined)[] {
    return this.live.sessions(ripId).map(({ proxy, server, count }) => {
      if (count === undefined) return undefined
      return Math.max(count, this.lastSessions('server', server, proxy) ?? 0)
    })
  }

  /** Returns the connections of frontends, counted like `sessions`; undefined while HAProxy does not answer. */
  frontendSessions(ids: readonly string[]): number | undefined {
    if (!this.#state.up) return undefined
    return ids.reduce((sum, id) => sum + (this.lastSessions('frontend', id, '') ?? 0), 0)
  }

  /** Resolves when the next poll has ended (answered or not) and its second is committed, or after a long silence. */
  waitTick(): Promise<void> {
    return this.#tick.promise
  }

  protected override take(tick: TickMessage<HaproxyTick>): void {
    const { up, since_ms, reason, storage, csv, rows, kinds, statuses, layout } = tick
    const { observer, onHealth, log } = this.#options
    if (tick.listed !== undefined) observer?.list(tick.listed)
    if (tick.health !== undefined) onHealth(tick.health)
    // An operator who named a socket is warned when nothing answers there; a generated HAProxy is only just being
    // started.
    if (up !== this.#state.up || (this.#sequence === 0 && observer !== undefined)) {
      if (up) log.info('HAProxy answers with statistics')
      else log.warn('HAProxy does not answer with statistics', { reason })
    }
    if (storage === undefined && this.#state.storage !== undefined) log.info('the archive is stored again')
    this.#state = { up, since_ms, reason, storage }
    const free = csv && (() => void csv.buffer.transfer(0))
    this.live.update({ sequence: ++this.#sequence, csv, rows, kinds, statuses, layout, since_ms, reason, free })
    this.#nextTick()
  }

  /** HAProxy may still run well, so its state is left alone. */
  override interrupt(reason: string, since_ms: number): void {
    this.live.update({ sequence: ++this.#sequence, ...NOTHING, since_ms, reason })
    // Clients that follow the figures are informed as well.
    this.#nextTick()
  }

  override lose(reason: string, now_ms: number): void {
    this.#state = { up: false, since_ms: now_ms, reason, storage: this.#state.storage }
    super.lose(reason, now_ms)
  }

  #nextTick(): void {
    const tick = this.#tick
    this.#tick = defer()
    tick.resolve()
  }

  override close(): Promise<void> {
    this.#nextTick()
    return super.close()
  }
}
