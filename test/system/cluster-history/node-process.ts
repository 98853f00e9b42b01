import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { hang } from '../../fixtures/hang.ts'
import { until } from '../../fixtures/until.ts'
import type { Operation } from './checker.ts'
import type { NodeCommand, NodeLine, NodeSettings, NodeShown } from './lines.ts'

const PROGRAM = new URL('node.ts', import.meta.url).pathname
const PRELOADED = new URL('../../../src/code-cache.mjs', import.meta.url).pathname
const TAKEN_OVER = 'the store was loaded from a checkpoint'
/** Of what it wrote to its log, for whoever looks for the reason of a failure. */
const LOG_LENGTH_MAX = 20_000

/** A node that is ended, killed, suspended and restarted on the same folder. */
export class NodeProcess {
  readonly id: string
  /** Operations of all its runs. */
  readonly operations = new Map<string, Operation>()
  answered = 0
  /** How often it restarted from a checkpoint. */
  takeovers = 0
  log = ''
  /** Runs that ended unexpectedly. */
  readonly crashes: string[] = []
  readonly #settings: Omit<NodeSettings, 'prefix' | 'seed'>
  readonly #seed: number
  #lives = 0
  #child: ChildProcess | undefined
  #ended: Promise<unknown> = Promise.resolve()
  #isReady = false
  #isResting = false
  #shown: NodeShown | undefined

  constructor(settings: Omit<NodeSettings, 'prefix' | 'seed'>, seed: number) {
    this.id = settings.id
    this.#settings = settings
    this.#seed = seed
  }

  get pid(): number {
    const pid = this.#child?.pid
    if (pid === undefined) throw new Error(`${this.id} does not run`)
    return pid
  }

  /** Resolves when the node runs; without a majority of etcd it waits for one. */
  async start(): Promise<void> {
    this.#lives += 1
    this.#isReady = false
    this.#isResting = false
    const prefix = `${this.id}-${this.#lives}`
    const command = [process.execPath, '--no-warnings', '--import', PRELOADED, PROGRAM]
    // It ends with this process, however that ends.
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...command], { stdio: ['pipe', 'pipe', 'pipe'] })
    // Commands to an ended process are lost.
    child.stdin.on('error', () => undefined)
    createInterface({ input: child.stderr }).on('line', (line) => {
      this.log = `${this.log}${line}\n`.slice(-LOG_LENGTH_MAX)
      if (line.includes(TAKEN_OVER)) this.takeovers += 1
    })
    createInterface({ input: child.stdout }).on('line', (line) => {
      // Sound: `lines.ts` defines what it writes, and the end of a process cuts no line.
      this.#hear(JSON.parse(line) as NodeLine)
    })
    this.#child = child
    this.#ended = once(child, 'close').then(([code, signal]) => {
      if (this.#child === child) this.crashes.push(`${this.id} ended with ${code ?? signal}: ${this.log}`)
    })
    const settings: NodeSettings = { ...this.#settings, prefix, seed: this.#seed + 1000 * this.#lives }
    child.stdin.write(`${JSON.stringify(settings)}\n`)
    await once(child, 'spawn')
  }

  async ready(): Promise<void> {
    await this.#until('is ready', () => this.#isReady)
  }

  async kill(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    child?.kill('SIGKILL')
    await this.#ended
  }

  /** Ends it gracefully, in the middle of edits. */
  async end(): Promise<void> {
    const child = this.#child
    this.#tell('end')
    this.#child = undefined
    await until(
      `${this.id} ends: ${this.log}`,
      () => child === undefined || child.exitCode !== null || child.signalCode !== null,
    )
    await this.#ended
  }

  async pause(): Promise<void> {
    await hang(this.pid)
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT')
  }

  /** Resolves when all its operations have ended. */
  async rest(): Promise<void> {
    this.#tell('rest')
    await this.#until('rests', () => this.#isResting)
  }

  async show(): Promise<NodeShown> {
    this.#shown = undefined
    this.#tell('show')
    await this.#until('shows its store', () => this.#shown !== undefined)
    if (this.#shown === undefined) throw new Error('shown')
    return this.#shown
  }

  #tell(command: NodeCommand): void {
    this.#child?.stdin?.write(`${command}\n`)
  }

  async #until(what: string, isTrue: () => boolean): Promise<void> {
    await until(`${this.id} ${what}: ${this.log}`, () => {
      if (this.crashes.length > 0) throw new Error(this.crashes.join('\n'))
      return isTrue()
    })
  }

  #hear(line: NodeLine): void {
    switch (line.did) {
      case 'ready':
        this.#isReady = true
        return
      case 'rest':
        this.#isResting = true
        return
      case 'show':
        this.#shown = line.shown
        return
      case 'begin': {
        const { operation: name, kind, at_us } = line
        this.operations.set(name, { name, kind, began_us: at_us })
        return
      }
      default: {
        const { operation: name, outcome, why, at_us } = line
        const begun = this.operations.get(name)
        if (begun === undefined) throw new Error(`${name} ended and never began`)
        this.operations.set(name, { ...begun, outcome, why, ended_us: at_us })
        if (outcome === 'answered') this.answered += 1
      }
    }
  }
}
