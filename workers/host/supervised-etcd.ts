import { rename, stat } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { ETCD_ENVIRONMENT, ETCD_FILE, etcdArguments } from '../../src/drivers/etcd-file.ts'
import type { RunResult, UnitState, UnitVerb } from '../../src/drivers/host.ts'
import { readText } from './durable-files.ts'
import type { ClusterProgram } from './host-settings.ts'
import type { ManagedProgram, StartDetached } from './managed-program.ts'
import { areGone, findProcesses } from './processes.ts'
import { findProgram, notInstalled } from './programs.ts'

const POLL_MS = 20
/** Within this time etcd reports a problem with its arguments, its ports or its log. */
const SETTLED_MS = 300
/**
 * On a slow machine, a new member with a full disk fails later than others have settled, because it creates its log
 * first.
 */
const LOG_MADE_MS = 10_000
/** A joining member asks its peers first, which may take long; nothing else can change on this machine meanwhile. */
const JOINED_MS = 3_000
/** An orderly stop hands leadership over, which a hanging partner may delay. */
const STOP_PATIENCE_MS = 5_000
const KILLED_GONE_MS = 10_000
const LOG_BYTES_MAX = 4 * 1024 * 1024
const LOG_TAIL = 2_000
/** Lines searched for the reason: the last error, and the stack trace of a panic after it. */
const LINES_MAX = 200
const LEVELS: ReadonlySet<unknown> = new Set(['error', 'fatal', 'panic'])

/**
 * The etcd of a cluster where systemd does not run it: started in its own session, and recognised by the data folder in
 * its command line.
 */
export class SupervisedEtcd implements ManagedProgram {
  readonly #settings: ClusterProgram
  readonly #startDetached: StartDetached
  readonly #logFile: string

  constructor(settings: ClusterProgram, startDetached: StartDetached) {
    this.#settings = settings
    this.#startDetached = startDetached
    this.#logFile = `${settings.folder}/etcd.log`
  }

  async perform(verb: UnitVerb, timeout_ms: number): Promise<RunResult> {
    if (verb !== 'start') {
      const stopped = await this.#stop(timeout_ms)
      if (verb === 'stop' || stopped.exitCode !== 0) return stopped
    }
    return this.#pids().length > 0 ? DONE : await this.#start(timeout_ms)
  }

  async state(): Promise<UnitState> {
    if (this.#pids().length > 0) return 'running'
    return (await findProgram(this.#settings.program)) === undefined ? 'missing' : 'stopped'
  }

  /** The kernel reuses pids, so a process is recognised by its command line. */
  #pids(): readonly number[] {
    const data = `--data-dir=${this.#settings.folder}/etcd`
    return findProcesses((words) => words.includes(data)).map(({ pid }) => pid)
  }

  async #start(timeout_ms: number): Promise<RunResult> {
    const { folder } = this.#settings
    const program = await findProgram(this.#settings.program)
    if (program === undefined) return notInstalled(this.#settings.program)
    const text = await readText(`${folder}/${ETCD_FILE}`)
    if (text === undefined) return { exitCode: 1, output: 'this node is not in a cluster' }
    if ((await this.#logSize()) > LOG_BYTES_MAX) await rename(this.#logFile, `${this.#logFile}.1`)
    const options = { folder, logFile: this.#logFile, environment: ETCD_ENVIRONMENT }
    const words = etcdArguments(text)
    const started = await this.#startDetached([program, ...words], options)
    const patience_ms = words.includes('--initial-cluster-state=new') ? LOG_MADE_MS : JOINED_MS
    const settling = new AbortController()
    const settled = this.#settled(Math.min(timeout_ms, patience_ms), settling.signal)
    const how = await Promise.race([started.ended, settled])
    settling.abort()
    if (how === undefined) return DONE
    const said = (await readText(this.#logFile)) ?? ''
    return { exitCode: 1, output: `etcd did not start: ${how}\n${reasonIn(said) ?? said.slice(-LOG_TAIL)}`.trim() }
  }

  async #settled(patience_ms: number, signal: AbortSignal): Promise<undefined> {
    const end_ms = performance.now() + patience_ms
    await wait(SETTLED_MS)
    while (performance.now() < end_ms && !signal.aborted && !(await this.#hasLog())) await wait(POLL_MS)
  }

  /** Whether there is a write-ahead log. etcd creates it under another name and renames it when it is complete. */
  async #hasLog(): Promise<boolean> {
    return await stat(`${this.#settings.folder}/etcd/member/wal`).then(
      () => true,
      () => false,
    )
  }

  async #stop(timeout_ms: number): Promise<RunResult> {
    const patience_ms = Math.min(timeout_ms, STOP_PATIENCE_MS)
    const pids = this.#signal('SIGTERM')
    if (await areGone(pids, () => this.#pids(), patience_ms)) return DONE
    this.#signal('SIGKILL')
    const output = `etcd did not stop within ${patience_ms} ms and was killed`
    if (await areGone(pids, () => this.#pids(), KILLED_GONE_MS)) return { exitCode: 0, output }
    return { exitCode: 124, output: `${output}, but is still running` }
  }

  /** Returns the processes that were signalled. */
  #signal(signal: NodeJS.Signals): readonly number[] {
    const pids = this.#pids()
    for (const pid of pids) {
      try {
        process.kill(pid, signal)
      } catch {
        // The process ended at the same moment.
      }
    }
    return pids
  }

  async #logSize(): Promise<number> {
    return await stat(this.#logFile).then(
      ({ size }) => size,
      () => 0,
    )
  }
}

/** Returns the last error that etcd has logged, without its place in the source. */
function reasonIn(log: string): string | undefined {
  for (const line of log.trimEnd().split('\n').slice(-LINES_MAX).toReversed()) {
    if (!line.startsWith('{')) continue
    try {
      const { level, msg, error } = JSON.parse(line)
      if (LEVELS.has(level) && typeof error === 'string') return `${msg}: ${error}`
    } catch {
      // The line was cut off.
    }
  }
  return undefined
}

const DONE: RunResult = { exitCode: 0, output: '' }
