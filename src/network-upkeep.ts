import type { ApplyEngine } from './config/apply.ts'
import type { ConfigView } from './model/sections.ts'

const LOOK_EVERY_MS = 60_000
const SECTIONS = ['staticIps', 'ipRoutes', 'ipGroups'] as const

/**
 * The kernel forgets routes and IPv6 addresses of an interface that goes down and comes back, and other programs change
 * what is not theirs: once a minute the node's network is made as running says again. Nothing is done where it is so.
 */
export class NetworkUpkeep {
  readonly #engine: ApplyEngine
  readonly #running: ConfigView
  #timer: NodeJS.Timeout | undefined

  constructor(engine: ApplyEngine, running: ConfigView) {
    this.#engine = engine
    this.#running = running
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async look(): Promise<void> {
    if (this.#engine.busy || SECTIONS.every((section) => [...this.#running.list(section)].length === 0)) return
    // What fails is in the log, and tried again a minute later.
    await this.#engine.converge(({ name }) => name === 'network')
  }
}
