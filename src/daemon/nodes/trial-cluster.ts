import type { Worker } from 'node:worker_threads'
import { endDemoThread, startDemoThread } from '../../appliance/demo-thread.ts'
import type { DemoPorts, Settings } from '../../settings.ts'
import { portOfAll } from './before-start.ts'
import { formCluster, type Login, titleOf } from './forming.ts'
import { greetingLines } from './greeting.ts'
import { keep, type KeptNodes, peerOf } from './kept-nodes.ts'
import { endPrograms } from './left-programs.ts'
import { NodeProcess, type NodeStart } from './node-process.ts'
import type { NodePlace } from './places.ts'
import { reasonOf } from '../../base/reason.ts'

export interface TrialParts extends Pick<Settings, 'state' | 'administrator'> {
  /** Undefined: a demonstration at the first start, and where there was one before. */
  readonly wantsDemo: boolean | undefined
  readonly places: readonly NodePlace[]
  readonly startOf: (place: NodePlace, demo: DemoPorts | undefined) => NodeStart
  /** The data of an earlier start; undefined at the first one. */
  readonly kept: KeptNodes | undefined
  readonly say: (line: string) => void
  readonly complain: (line: string) => void
}

const DEMO_PORT = 8080
/** Rate for each node. */
const DEMO_REQUESTS_PER_SECOND = 7

/** The nodes, and the origins of the demonstration, which outlive each of them. */
export class TrialCluster {
  readonly #parts: TrialParts
  #nodes: readonly NodeProcess[] = []
  #demo: Worker | undefined
  #isEnding = false
  #isComplete = false
  #began_ms = performance.now()

  constructor(parts: TrialParts) {
    this.#parts = parts
  }

  /** Resolves when the cluster is ready for use. */
  async start(): Promise<void> {
    const { places, startOf, kept } = this.#parts
    const demo = await this.#startDemo()
    const wanted = { nodes: places.length, peer: peerOf(places), demo: demo ?? kept?.demo }
    await this.#keep({ ...wanted, isComplete: kept !== undefined })
    this.#nodes = places.map(
      (place) => new NodeProcess(startOf(place, demo), (how) => this.#hasEnded(place.number, how)),
    )
    await (kept === undefined ? this.#begin() : this.#goOn())
    this.#greet(demo)
    this.#isComplete = true
    if (kept === undefined) await this.#keep({ ...wanted, isComplete: true })
  }

  #keep(kept: KeptNodes): Promise<void> {
    return keep(this.#parts.state, kept)
  }

  /** Prints the greeting. The password is shown by the start that generated it. */
  #greet(demo: DemoPorts | undefined): void {
    const { administrator, kept, say } = this.#parts
    const [first] = this.#nodes
    const shown = first?.demoUrl === undefined ? undefined : demo
    if (shown === undefined) this.#endDemo()
    const lines = greetingLines({
      nodes: this.#nodes,
      email: administrator.email,
      password: first?.firstLogin.password,
      isFirst: kept === undefined,
      demo: shown,
      pid: process.pid,
    })
    for (const line of lines) say(line)
  }

  /** Forms the cluster at the first start; if this fails, the next start begins again from nothing. */
  async #begin(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => this.#startNode(node)))
    const loginOf = (node: NodeProcess) => this.#loginOf(node)
    await formCluster(this.#nodes, loginOf, this.#tell)
  }

  /**
   * Starts the nodes of a known cluster. One that does not start is reported; the others form the cluster without it.
   */
  async #goOn(): Promise<void> {
    const starts = await Promise.allSettled(this.#nodes.map((node) => this.#startNode(node)))
    const failed = starts.filter(({ status }) => status === 'rejected')
    for (const { reason } of failed as readonly PromiseRejectedResult[]) this.#parts.complain(String(reason.message))
    if (failed.length === starts.length) throw new Error('no node has started')
  }

  async #startNode(node: NodeProcess): Promise<void> {
    node.begin()
    await node.runs()
    this.#tell(`${titleOf(node, this.#nodes)} runs`)
  }

  readonly #tell = (line: string): void =>
    this.#parts.say(`  ${line}, ${Math.round((performance.now() - this.#began_ms) / 1000)} s`)

  #loginOf({ firstLogin: { email, password } }: NodeProcess): Login {
    const { administrator } = this.#parts
    return { email: email ?? administrator.email, password: password ?? administrator.password ?? '' }
  }

  /** Starts the origins; returns undefined without a demonstration. */
  async #startDemo(): Promise<DemoPorts | undefined> {
    const { complain, kept, places, wantsDemo } = this.#parts
    const known = kept?.demo
    if (!(wantsDemo ?? (known !== undefined || kept === undefined))) return undefined
    const frontend = known?.frontend ?? (await portOfAll(places, DEMO_PORT))
    const frontendUrls = places.map(({ listen }) => `http://${listen.host}:${frontend}/`)
    const data = { originPorts: known?.origins ?? ([0, 0] as const), frontendUrls }
    try {
      const demo = await startDemoThread({ ...data, requestsPerSecond: DEMO_REQUESTS_PER_SECOND })
      this.#demo = demo.worker
      return { frontend, origins: demo.originPorts }
    } catch (error) {
      complain(`there is no demonstration: ${reasonOf(error)}`)
      return undefined
    }
  }

  #endDemo(): void {
    if (this.#demo !== undefined) endDemoThread(this.#demo)
    this.#demo = undefined
  }

  #hasEnded(number: number, how: string): void {
    if (this.#isEnding || !this.#isComplete) return
    this.#parts.say(`  Node ${number} has ended (${how}); kill -USR2 ${process.pid} starts it again`)
  }

  /** Starts nodes that have ended on their own, or were killed. */
  startEnded(): void {
    if (!this.#isComplete || this.#isEnding) return
    this.#began_ms = performance.now()
    for (const node of this.#nodes) {
      if (!node.isRunning) void this.#startNode(node).catch((error: Error) => this.#parts.complain(error.message))
    }
  }

  async end(): Promise<void> {
    this.#isEnding = true
    this.#endDemo()
    await Promise.all(this.#nodes.map((node) => node.end()))
    for (const { place, start, wasCutOff } of this.#nodes) {
      const left = wasCutOff ? await endPrograms(start) : undefined
      if (left !== undefined)
        this.#parts.complain(`node ${place.number} left a process that could not be stopped: ${left}`)
    }
    if (this.#nodes.length > 0)
      this.#parts.say(`  Stopped        ${this.#nodes.length} nodes, with their HAProxys and etcds`)
  }
}
