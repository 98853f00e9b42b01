import type { Clock } from '../base/clock.ts'
import type { ApplyEngine } from '../config/apply.ts'
import type { Log } from '../base/log.ts'
import type { ConfigView } from '../model/sections.ts'
import { Repeated } from '../base/repeated.ts'

const LOOK_EVERY_MS = 60_000
const LOOK_WHO_EVERY_MS = 1_000
const AGAIN_MS = 10_000
/** Time in which a node that was removed becomes a single node, without the addresses that the others have. */
const LEAVING_MS = 10_000
const SECTIONS = ['staticIps', 'floatingIps', 'ipRoutes', 'ipGroups'] as const

interface UpkeepParts {
  readonly engine: ApplyEngine
  readonly running: ConfigView
  readonly listeners: { settle(): Promise<void> }
  /** Returns the nodes of the cluster. */
  readonly nodeIds: () => readonly string[]
  readonly clock: Pick<Clock, 'monotonic_ms'>
  readonly log: Log
}

/**
 * Keeps the node's network as configured. The kernel drops routes and IPv6 addresses of an interface that goes down and
 * comes back, and other programs make changes: once a minute the running configuration is enforced again. Nothing is
 * done when the network matches it.
 */
export class NetworkUpkeep {
  readonly #parts: UpkeepParts
  readonly #looks: Repeated
  readonly #looksWho: Repeated
  /** The nodes for which the network was set up. */
  #nodeIds = ''
  #isMoving = false
  #again_ms = 0
  /** When the nodes were last found to be others. */
  #changed: { readonly nodeIds: string; readonly at_ms: number } | undefined

  constructor(parts: UpkeepParts) {
    this.#parts = parts
    this.#looks = new Repeated('network', () => this.look(), LOOK_EVERY_MS, parts.log)
    this.#looksWho = new Repeated('whose addresses move', () => this.lookWho(), LOOK_WHO_EVERY_MS, parts.log)
  }

  start(): void {
    this.#looks.start()
    this.#looksWho.start()
  }

  close(): void {
    this.#looks.stop()
    this.#looksWho.stop()
  }

  /**
   * Adapts the network to the nodes that share addresses, which are not part of the configuration. Addresses that only
   * this node has are removed before another one can have them, and set up when the other one has released them: until
   * then it announces them each second, and neighbours would send packets to it for as long as they remember that.
   */
  async lookWho(): Promise<void> {
    const { engine, nodeIds, clock } = this.#parts
    const now = nodeIds().join(' ')
    if (now === this.#nodeIds || engine.busy || this.#isMoving || clock.monotonic_ms() < this.#again_ms) return
    if (this.#isLeft(now)) return
    this.#isMoving = true
    this.#again_ms = clock.monotonic_ms() + AGAIN_MS
    try {
      let isMade = true
      for (const driver of ['network', 'clusterha', 'network']) {
        const { ok } = await engine.converge(({ name }) => name === driver)
        isMade &&= ok
      }
      // Otherwise the reason is in the log, and it is tried again: addresses without a node must not wait for the next
      // apply.
      if (isMade) this.#nodeIds = now
    } finally {
      this.#isMoving = false
    }
  }

  /** Whether a node was removed a moment ago. */
  #isLeft(now: string): boolean {
    const { clock } = this.#parts
    if (this.#changed?.nodeIds !== now) this.#changed = { nodeIds: now, at_ms: clock.monotonic_ms() }
    const there = new Set(now.split(' '))
    const hasLeft = this.#nodeIds.split(' ').some((id) => id !== '' && !there.has(id))
    return hasLeft && clock.monotonic_ms() < this.#changed.at_ms + LEAVING_MS
  }

  async look(): Promise<void> {
    if (this.#parts.engine.busy) return
    await this.#settleNetwork()
    // The address on which the API listens may be back.
    await this.#parts.listeners.settle()
  }

  async #settleNetwork(): Promise<void> {
    if (SECTIONS.every((section) => [...this.#parts.running.list(section)].length === 0)) return
    // Failures are logged there, and tried again a minute later.
    await this.#parts.engine.converge(({ name }) => name === 'network')
  }
}
