import type { ApplyEngine } from '../config/apply.ts'
import { Repeated } from '../base/repeated.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Sharing } from '../drivers/haproxy/sharing.ts'
import { tellHaproxy } from './told-haproxy.ts'

const LOOK_EVERY_MS = 1_000
/**
 * A HAProxy that has just begun to share waits for the other nodes' tables, and passes none on at a reload in that
 * time.
 */
const SETTLED_MS = 10_000
/** Limit for the wait when one apply follows another. */
const WAITS_MS_MAX = 60_000
const AGAIN_MS = 10_000

/** The other nodes' HAProxys in the configuration of this node's: all plans are made with them. */
export interface SharingHere {
  current: Sharing | undefined
}

export interface SharingUpkeepParts {
  readonly engine: Pick<ApplyEngine, 'isUnsettled' | 'converge'>
  readonly here: SharingHere
  readonly wanted: () => Promise<Sharing | undefined>
  /** Returns the running revision: HAProxy begins to share with its first stick table. */
  readonly revision: () => number
  /** Whether this daemon manages HAProxy at all. */
  readonly isOurs: () => boolean
  readonly clock: Pick<Clock, 'monotonic_ms'>
  readonly log: Log
}

/**
 * Keeps HAProxy up to date about the nodes that share stick tables. These are not part of the configuration: they come,
 * go and move. HAProxy learns them by a reload, which keeps its tables and its connections.
 */
export class SharingUpkeep {
  readonly #parts: SharingUpkeepParts
  readonly #looks: Repeated
  #isLooking = false
  #isClosed = false
  #settled_ms = 0
  #revision: number | undefined
  /** The time since which HAProxy waits for a change of the other nodes. */
  #waiting_ms: number | undefined
  #again_ms = 0

  constructor(parts: SharingUpkeepParts) {
    this.#parts = parts
    this.#looks = new Repeated('whom stick tables are shared with', () => this.look(), LOOK_EVERY_MS, parts.log)
  }

  /**
   * Called before HAProxy is brought in line with the running configuration: one that already runs knows the others,
   * and continues.
   */
  async begin(): Promise<void> {
    const { here, wanted } = this.#parts
    here.current = await wanted()
    this.#revision = this.#parts.revision()
  }

  start(): void {
    this.#looks.start()
  }

  close(): void {
    this.#isClosed = true
    this.#looks.stop()
  }

  /**
   * Compares the nodes. An apply in the meantime is planned with those that HAProxy already has, as it would otherwise
   * leave the reload out.
   */
  async look(): Promise<void> {
    const { engine, here, wanted, isOurs, clock } = this.#parts
    if (this.#isLooking || clock.monotonic_ms() < this.#again_ms) return
    this.#isLooking = true
    try {
      const now = await wanted()
      if (this.#isClosed || engine.isUnsettled) return
      const before = here.current
      if (!this.#isTime(before, now)) return
      this.#waiting_ms = undefined
      if (!isOurs()) {
        here.current = now
        return
      }
      let isTold = false
      try {
        isTold = await tellHaproxy(engine, here, now)
      } finally {
        const now_ms = clock.monotonic_ms()
        this.#settled_ms = now_ms + SETTLED_MS
        if (!isTold) this.#again_ms = now_ms + AGAIN_MS
      }
    } finally {
      this.#isLooking = false
    }
  }

  #isTime(before: Sharing | undefined, now: Sharing | undefined): boolean {
    const { clock, revision } = this.#parts
    const [now_ms, known] = [clock.monotonic_ms(), this.#revision]
    this.#revision = revision()
    if (known !== undefined && this.#revision !== known) this.#settled_ms = now_ms + SETTLED_MS
    if (JSON.stringify(now) === JSON.stringify(before)) {
      this.#waiting_ms = undefined
      return false
    }
    this.#waiting_ms ??= now_ms
    return now_ms >= this.#settled_ms || now_ms - this.#waiting_ms >= WAITS_MS_MAX || loses(before, now)
  }
}

/** Whether a node leaves, which is urgent: it may have been removed because it is not trusted. */
function loses(before: Sharing | undefined, now: Sharing | undefined): boolean {
  const left = new Set(now?.others.map(({ id }) => id))
  return before?.others.some(({ id }) => !left.has(id)) === true
}
