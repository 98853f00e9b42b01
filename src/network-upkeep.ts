import type { ApplyEngine } from './config/apply.ts'
import type { ConfigView } from './model/sections.ts'

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
  #timer: NodeJS.Timeout | undefined

  /** `settleApi` makes the API listen where running says: its address may have come back. */
  constructor(engine: ApplyEngine, running: ConfigView, settleApi: () => Promise<void>) {
    this.#engine = engine
    this.#running = running
    this.#settleApi = settleApi
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
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
