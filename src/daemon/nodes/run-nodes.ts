import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { Worker } from 'node:worker_threads'
import { endDemoThread, startDemoThread } from '../../appliance/demo-thread.ts'
import { createMachine } from '../../machine/machine.ts'
import { type DemoPorts, readSettings, type Settings } from '../../settings.ts'
import { lockState } from '../state-lock.ts'
import { assertFree, portOfAll, unused } from './before-start.ts'
import { etcdProgram } from './etcd-program.ts'
import { formCluster, type Login, titleOf } from './forming.ts'
import { greetingLines, titleLine } from './greeting.ts'
import { foundNodes, keep, type KeptNodes } from './kept-nodes.ts'
import { NodeProcess, type NodeStart } from './node-process.ts'
import { nodeArguments, nodeEnvironment, type NodePlace, nodePlaces } from './places.ts'

type Environment = Readonly<Record<string, string | undefined>>

const DEMO_PORT = 8080
/** To each node. */
const DEMO_REQUESTS_PER_SECOND = 7

const say = (text: string) => void process.stdout.write(`${text}\n`)
const complain = (text: string) => void process.stderr.write(`fulcrum: ${text}\n`)

/** Runs a cluster of daemons on this machine until a signal ends them all. */
export async function runNodes(
  settings: Settings,
  nodes: number,
  env: Environment,
  end: (code: number) => void,
): Promise<void> {
  const signal = endingSignal()
  const places = nodePlaces(settings, nodes)
  const { state } = settings
  lockState(state)
  const kept = foundNodes(state, nodes)
  const { program, version } = await etcdProgram(settings.etcd)
  await unused(places, () => say('  the nodes of an earlier start are still ending …'))
  const startOf = (place: NodePlace, demo: DemoPorts | undefined): NodeStart => ({
    place,
    program: process.argv[1] ?? '',
    args: nodeArguments(place, settings),
    env: nodeEnvironment(place, env, program, demo),
  })
  if (kept === undefined) for (const place of places) await clear(startOf(place, undefined))
  await assertFree(places, kept === undefined)
  say(titleLine(nodes, state))
  say(`  etcd ${version}`)
  const cluster = new Cluster(settings, places, startOf, kept)
  process.on('SIGUSR2', () => cluster.startEnded())
  try {
    await Promise.race([cluster.start(), signal])
    await signal
  } finally {
    await cluster.end()
  }
  end(0)
}

/** What a start that was cut off has left: nobody was told of it. */
async function clear(start: NodeStart): Promise<void> {
  if (!existsSync(start.place.state)) return
  await endPrograms(start)
  await rm(start.place.state, { recursive: true, force: true })
}

/** HAProxy and etcd outlive a daemon that was killed. */
async function endPrograms({ args, env, place }: NodeStart): Promise<void> {
  const settings = readSettings(args, env)
  if (settings === 'help') return
  const machine = createMachine(settings)
  const left = await machine.stopSupervised()
  await machine.close()
  if (left !== undefined) complain(`node ${place.number} left something that was not ended: ${left}`)
}

/** More signals change nothing; see the same of a daemon. */
function endingSignal(): Promise<void> {
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined)
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => resolve())
  })
}

/** The nodes, and the origins of the demonstration, which outlive each of them. */
class Cluster {
  readonly #settings: Settings
  readonly #places: readonly NodePlace[]
  readonly #startOf: (place: NodePlace, demo: DemoPorts | undefined) => NodeStart
  readonly #kept: KeptNodes | undefined
  #nodes: readonly NodeProcess[] = []
  #starts: readonly NodeStart[] = []
  #demo: Worker | undefined
  #isEnding = false
  #isComplete = false
  #began_ms = performance.now()

  constructor(
    settings: Settings,
    places: readonly NodePlace[],
    startOf: (place: NodePlace, demo: DemoPorts | undefined) => NodeStart,
    kept: KeptNodes | undefined,
  ) {
    this.#settings = settings
    this.#places = places
    this.#startOf = startOf
    this.#kept = kept
  }

  /** Resolves when somebody can work with it. */
  async start(): Promise<void> {
    const { state, demo: wanted } = this.#settings
    const known = this.#kept?.demo
    const wantsDemo = wanted ?? (known !== undefined || this.#kept === undefined)
    const demo = wantsDemo ? await this.#startDemo(known) : undefined
    const kept = { nodes: this.#places.length, demo: demo ?? known }
    await keep(state, { ...kept, isComplete: this.#kept !== undefined })
    this.#starts = this.#places.map((place) => this.#startOf(place, demo))
    this.#nodes = this.#starts.map((start) => new NodeProcess(start, (how) => this.#hasEnded(start.place, how)))
    await (this.#kept === undefined ? this.#begin() : this.#goOn())
    const [first] = this.#nodes
    const administrator = this.#kept === undefined && first !== undefined ? this.#loginOf(first) : undefined
    const isShown = first?.demoUrl !== undefined
    if (!isShown) this.#endDemo()
    const lines = greetingLines({
      nodes: this.#nodes,
      administrator: administrator && { ...administrator, password: first?.firstLogin.password },
      demo: isShown ? demo : undefined,
      pid: process.pid,
    })
    say(lines.join('\n'))
    this.#isComplete = true
    if (this.#kept === undefined) await keep(state, { ...kept, isComplete: true })
  }

  /** The first start: one that does not come about is begun anew by the next. */
  async #begin(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => this.#startNode(node)))
    await formCluster(this.#nodes, (node) => this.#loginOf(node), this.#tell)
  }

  /** Who does not start is told; the others are a cluster without it. */
  async #goOn(): Promise<void> {
    const starts = await Promise.allSettled(this.#nodes.map((node) => this.#startNode(node)))
    const failed = starts.filter(({ status }) => status === 'rejected')
    for (const { reason } of failed as readonly PromiseRejectedResult[]) complain(String(reason.message))
    if (failed.length === starts.length) throw new Error('no node has started')
  }

  async #startNode(node: NodeProcess): Promise<void> {
    node.start()
    await node.runs()
    this.#tell(`${titleOf(node, this.#nodes)} runs`)
  }

  readonly #tell = (line: string): void =>
    say(`  ${line}, ${Math.round((performance.now() - this.#began_ms) / 1000)} s`)

  #loginOf({ firstLogin: { email, password } }: NodeProcess): Login {
    const { administrator } = this.#settings
    return { email: email ?? administrator.email, password: password ?? administrator.password ?? '' }
  }

  async #startDemo(known: DemoPorts | undefined): Promise<DemoPorts | undefined> {
    const frontend = known?.frontend ?? (await portOfAll(this.#places, DEMO_PORT))
    const frontendUrls = this.#places.map(({ listen }) => `http://${listen.host}:${frontend}/`)
    const data = { originPorts: known?.origins ?? ([0, 0] as const), frontendUrls }
    try {
      const demo = await startDemoThread({ ...data, requestsPerSecond: DEMO_REQUESTS_PER_SECOND })
      this.#demo = demo.worker
      return { frontend, origins: demo.originPorts }
    } catch (error) {
      complain(`there is no demonstration: ${error instanceof Error ? error.message : String(error)}`)
      return undefined
    }
  }

  #endDemo(): void {
    if (this.#demo !== undefined) endDemoThread(this.#demo)
    this.#demo = undefined
  }

  #hasEnded({ number }: NodePlace, how: string): void {
    if (this.#isEnding || !this.#isComplete) return
    say(`  Node ${number} has ended (${how}); kill -USR2 ${process.pid} starts it again`)
  }

  /** Those that have ended by themselves, or were killed. */
  startEnded(): void {
    if (!this.#isComplete || this.#isEnding) return
    this.#began_ms = performance.now()
    for (const node of this.#nodes) {
      if (!node.isRunning) void this.#startNode(node).catch((error: Error) => complain(error.message))
    }
  }

  async end(): Promise<void> {
    this.#isEnding = true
    this.#endDemo()
    await Promise.all(this.#nodes.map((node) => node.end()))
    for (const [index, node] of this.#nodes.entries()) {
      const start = this.#starts[index]
      if (node.wasCutOff && start !== undefined) await endPrograms(start)
    }
    if (this.#nodes.length > 0) say(`  Ended          ${this.#nodes.length} nodes, with their HAProxys and etcds`)
  }
}
