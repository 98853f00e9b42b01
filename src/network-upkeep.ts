import type { ApplyEngine } from './config/apply.ts'
import type { Log } from './log.ts'
import type { ConfigView } from './model/sections.ts'
import { Repeated } from './repeated.ts'

const LOOK_EVERY_MS = 60_000
const SECTIONS = ['staticIps', 'floatingIps', 'ipRoutes', 'ipGroups'] as const

/**
 * The kernel forgets routes and IPv6 addresses of an interface that goes down and comes back, and other programs change
 * what is not theirs: once a minute the node's network is made as running says again. Nothing is done where it is so.
 */
export class NetworkUpkeep {
  readonly #engine: ApplyEngine
  readonly #running: ConfigView
  readonly #settleApi: () => Promise<void>
  readonly #looks: Repeated

  /** `settleApi` makes the API listen where running says: its address may have come back. */
  constructor(engine: ApplyEngine, running: ConfigView, settleApi: () => Promise<void>, log: Log) {
    this.#engine = engine
    this.#running = running
    this.#settleApi = settleApi
    this.#looks = new Repeated('network', () => this.look(), LOOK_EVERY_MS, log)
  }

  start(): void {
    this.#looks.start()
  }

  stop(): void {
    this.#looks.stop()
  }

  async look(): Promise<void> {
    if (this.#engine.busy) return
    await this.#settleNetwork()
    await this.#settleApi()
  }

  async #settleNetwork(): Promise<void> {
    if (SECTIONS.every((section) => [...this.#running.list(section)].length === 0)) return
    // What fails is in the log, and tried again a minute later.
    await this.#engine.converge(({ name }) => name === 'network')
  }
}
