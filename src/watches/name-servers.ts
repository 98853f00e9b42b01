import { Repeated } from '../base/repeated.ts'
import type { Log } from '../base/log.ts'
import type { ApplyEngine } from '../config/apply.ts'
import { tellHaproxy } from './told-haproxy.ts'

const LOOK_EVERY_MS = 5_000

/** The name servers in the configuration of this node's HAProxy: all plans are made with them. */
export interface NameServersHere {
  current: readonly string[]
}

export interface NameServersParts {
  readonly engine: Pick<ApplyEngine, 'isUnsettled' | 'converge'>
  readonly here: NameServersHere
  readonly read: () => Promise<readonly string[]>
  /** Whether this daemon manages HAProxy, and HAProxy uses the name servers. */
  readonly isAsked: () => boolean
  readonly log: Log
}

/**
 * Watches the name servers. They are a setting of the machine, which may change with a lease. HAProxy reads them only
 * at a start, so it is reloaded, which keeps its connections and the addresses that it knows.
 */
export class NameServers {
  readonly #parts: NameServersParts
  readonly #looks: Repeated
  #isLooking = false

  constructor(parts: NameServersParts) {
    this.#parts = parts
    this.#looks = new Repeated('the name servers of this machine', () => this.look(), LOOK_EVERY_MS, parts.log)
  }

  start(): void {
    this.#looks.start()
  }

  close(): void {
    this.#looks.stop()
  }

  /**
   * Compares the name servers. An apply in the meantime is planned with those that HAProxy already has, as it would
   * otherwise leave the reload out.
   */
  async look(): Promise<void> {
    const { engine, here, read, isAsked } = this.#parts
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      const [before, now] = [here.current, await read()]
      if (engine.isUnsettled || now.join() === before.join()) return
      if (isAsked()) await tellHaproxy(engine, here, now)
      else here.current = now
    } finally {
      this.#isLooking = false
    }
  }
}
