import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Repeated } from '../base/repeated.ts'
import type { PlanExecutor } from '../config/enactor.ts'
import type { ValuesStep } from '../drivers/driver.ts'
import { serversIn } from '../drivers/vrrp/driver.ts'
import { type Instance, instancesOf } from '../drivers/vrrp/instances.ts'
import { READY, STATES_FOLDER } from '../drivers/vrrp/paths.ts'
import type { ConfigView } from '../model/sections.ts'

export interface ReadinessParts {
  readonly nodeId: string
  /** Returns the nodes of the cluster, in order of precedence. */
  readonly nodeIds: () => readonly string[]
  readonly running: ConfigView
  /** Changes with each change of the running configuration. */
  readonly revision: () => number
  readonly executor: Pick<PlanExecutor, 'execute'>
  /** Whether the programs that serve are running: see `Server`. */
  readonly haproxy: { readonly isThere: boolean }
  readonly keepalivedRuns: () => boolean
  /** Whether this node is in maintenance, or goes down. */
  readonly isLeaving: () => boolean
  /** Whether this node knows that it was removed from its cluster, whose nodes no longer answer it. */
  readonly isRemoved: () => boolean
  /** Whether another node is ready to hold addresses. */
  readonly hasReadyOther: () => Promise<boolean>
  readonly clock: Pick<Clock, 'monotonic_ms'>
  readonly log: Log
}

const LOOK_EVERY_MS = 250
const TIMEOUT_MS = 5_000
const AGAIN_MS = 5_000
/** The time in which the other nodes can take the addresses that this node gives away. */
const YIELD_MS = 3_000
const [MAY, MUST_NOT] = ['0\n', '1\n']

/**
 * Decides whether this node may hold floating IPs, and tells keepalived through small files. It starts when the node
 * matches the running configuration, so a node that has just started takes no addresses before it can serve.
 */
export class Readiness {
  readonly #parts: ReadinessParts
  readonly #looks: Repeated
  /** The end of the time in which the addresses of a sync group are given away, by the group's name. */
  readonly #yields = new Map<string, number>()
  #told = ''
  /** The last values that could not be written, and until when; other values are tried at once. */
  #refused: { readonly text: string; readonly until_ms: number } | undefined
  #instances: { readonly of: string; readonly all: readonly Instance[] } | undefined
  #why: string | undefined = 'it has not been checked yet'
  #turn: Promise<void> = Promise.resolve()
  /** Number of checks in progress or waiting. */
  #looking = 0
  #hasStarted = false

  constructor(parts: ReadinessParts) {
    this.#parts = parts
    this.#looks = new Repeated('whether this node is ready', () => this.#lookUnlessBusy(), LOOK_EVERY_MS, parts.log)
  }

  async start(): Promise<void> {
    this.#hasStarted = true
    await this.look()
    this.#looks.start()
  }

  /** keepalived continues with the last values: the end of a daemon is no reason to move addresses. */
  close(): void {
    this.#looks.stop()
  }

  /** Why the node is not ready, as half a sentence. */
  get why(): string | undefined {
    return this.#why
  }

  /** Gives the addresses of a sync group away for some seconds; resolves when keepalived has the values. */
  async yield(syncGroup: string): Promise<void> {
    this.#yields.set(syncGroup, this.#parts.clock.monotonic_ms() + YIELD_MS)
    await this.look()
  }

  /** Another node has the addresses: from now on this node takes them when they are free. */
  async resume(syncGroup: string): Promise<void> {
    this.#yields.delete(syncGroup)
    await this.look()
  }

  /** Checks and reports, one call after the other, so that the last report has the last state. */
  look(): Promise<void> {
    this.#looking += 1
    const looked = this.#turn.then(() => this.#look()).finally(() => (this.#looking -= 1))
    this.#turn = looked.catch(() => undefined)
    return looked
  }

  /** Skips a check while one is in progress: another node may take longer to answer than the interval. */
  async #lookUnlessBusy(): Promise<void> {
    if (this.#looking === 0) await this.look()
  }

  async #look(): Promise<void> {
    if (!this.#hasStarted) return
    const instances = this.#instancesNow()
    this.#why = await this.#reason()
    if (instances.length === 0) {
      this.#told = ''
      return
    }
    await this.#tell([[READY, this.#why === undefined ? MAY : MUST_NOT], ...this.#states(instances)])
  }

  /** Returns the instances. They are needed four times a second, and depend on values that rarely change. */
  #instancesNow(): readonly Instance[] {
    const { nodeId, running, revision } = this.#parts
    const nodeIds = this.#parts.nodeIds()
    const of = [revision(), ...nodeIds].join(' ')
    if (this.#instances?.of !== of) this.#instances = { of, all: instancesOf(running, { nodeId, nodeIds }) }
    return this.#instances.all
  }

  async #reason(): Promise<string | undefined> {
    const { running, haproxy, keepalivedRuns, isLeaving, isRemoved, hasReadyOther } = this.#parts
    // The others go on with the addresses, and it would not hear of it from keepalived.
    if (isRemoved()) return 'it was removed from its cluster'
    const servers = serversIn(running)
    if (servers.includes('haproxy') && !haproxy.isThere) return 'its HAProxy does not run'
    if (servers.includes('keepalived') && !keepalivedRuns()) return 'its Layer 4 real servers are not checked'
    // A node in maintenance is better than none.
    return isLeaving() && (await hasReadyOther()) ? 'it is in maintenance' : undefined
  }

  #states(instances: readonly Instance[]): readonly (readonly [string, string])[] {
    const now_ms = this.#parts.clock.monotonic_ms()
    for (const [name, until_ms] of this.#yields) if (until_ms <= now_ms) this.#yields.delete(name)
    const names = new Set(instances.map(({ syncGroup }) => syncGroup))
    return [...names].map((name) => [name, this.#yields.has(name) ? MUST_NOT : MAY] as const)
  }

  async #tell(values: ValuesStep['values']): Promise<void> {
    const text = JSON.stringify(values)
    const isRefused = text === this.#refused?.text && this.#parts.clock.monotonic_ms() < this.#refused.until_ms
    if (text === this.#told || isRefused) return
    const why = 'tell keepalived whether this node may hold floating IPs'
    const step = { kind: 'values', folder: STATES_FOLDER, values, ifThere: [], keepsOnly: false } as const
    const result = await this.#parts.executor.execute([{ ...step, why, timeout_ms: TIMEOUT_MS }])
    if (!result.ok) {
      this.#refused = { text, until_ms: this.#parts.clock.monotonic_ms() + AGAIN_MS }
      throw new Error(result.output)
    }
    this.#parts.log.info('floating IPs', { isReady: this.#why === undefined, reason: this.#why })
    this.#told = text
  }
}
