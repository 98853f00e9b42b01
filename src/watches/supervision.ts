import type { Clock } from '../base/clock.ts'
import type { ApplyEngine } from '../config/apply.ts'
import { NOBODY_LISTENS } from '../drivers/haproxy/cli.ts'
import type { Log } from '../base/log.ts'
import type { StatsState } from '../stats/state.ts'

/** The driver that starts HAProxy. */
const HAPROXY = 'layer7proxy'
const LOOK_EVERY_MS = 250
/** HAProxy may miss a poll or two while it starts or reloads. */
const DOWN_FOR_MS = 3000
/** HAProxy's socket has no listener any more, so it has ended: a reload looks the same only for some milliseconds. */
const ENDED_FOR_MS = 500
const ENDED: ReadonlySet<string | undefined> = new Set(Object.values(NOBODY_LISTENS))
const RETRY_MAX_MS = 60_000

/**
 * Watches whether HAProxy answers its statistics socket. When it has not for a while, the running configuration is
 * enforced again, which starts it, or replaces a process that hangs; failed attempts are spaced out up to a minute.
 */
export class Supervision {
  readonly #engine: ApplyEngine
  readonly #state: () => Pick<StatsState, 'up' | 'reason'>
  /** Whether this daemon starts HAProxy at all. */
  readonly #isOurs: () => boolean
  readonly #clock: Pick<Clock, 'monotonic_ms'>
  readonly #log: Log
  readonly #onChange: (up: boolean, reason: string | undefined) => void
  /** The state last reported; undefined before the first report. */
  #told: boolean | undefined
  #timer: NodeJS.Timeout | undefined
  /** Monotonic, like `#tried_ms`: setting the clock neither delays nor causes a start. */
  #downSince_ms: number | undefined
  #wait_ms = DOWN_FOR_MS
  #tried_ms = 0

  constructor(
    engine: ApplyEngine,
    state: () => Pick<StatsState, 'up' | 'reason'>,
    isOurs: () => boolean,
    clock: Pick<Clock, 'monotonic_ms'>,
    log: Log,
    onChange: (up: boolean, reason: string | undefined) => void = () => undefined,
  ) {
    this.#engine = engine
    this.#state = state
    this.#isOurs = isOurs
    this.#clock = clock
    this.#log = log
    this.#onChange = onChange
  }

  start(): void {
    this.#tried_ms = this.#clock.monotonic_ms()
    this.#timer = setInterval(() => void this.#look(), LOOK_EVERY_MS).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #tell(up: boolean, reason: string | undefined): void {
    if (up === this.#told) return
    // HAProxy is expected to be up after a start.
    if (this.#told !== undefined || !up) this.#onChange(up, reason)
    this.#told = up
  }

  async #look(): Promise<void> {
    const { up, reason } = this.#state()
    const now_ms = this.#clock.monotonic_ms()
    this.#downSince_ms = up ? undefined : (this.#downSince_ms ?? now_ms)
    const down_ms = now_ms - (this.#downSince_ms ?? now_ms)
    if (up || down_ms >= DOWN_FOR_MS) this.#tell(up, reason)
    if (up) {
      this.#wait_ms = DOWN_FOR_MS
      return
    }
    if (this.#engine.busy || now_ms - this.#tried_ms < this.#wait_ms) return
    if (down_ms < (ENDED.has(reason) ? ENDED_FOR_MS : DOWN_FOR_MS) || !this.#isOurs()) return
    this.#tried_ms = now_ms
    this.#wait_ms = Math.min(this.#wait_ms * 2, RETRY_MAX_MS)
    this.#tell(up, reason)
    this.#log.warn('HAProxy does not answer; enforcing the running configuration', { reason })
    try {
      await this.#engine.converge(({ name }) => name === HAPROXY)
    } catch (error) {
      this.#log.warn('the running configuration was not enforced', { reason: String(error) })
    }
  }
}
