import { type ChildProcess, fork } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Report } from '../starter.ts'
import type { NodePlace } from './places.ts'

/** The command that starts the daemon of a node. */
export interface NodeStart {
  readonly place: NodePlace
  /** The program of this process as well. */
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

/** A running apply is given time to finish; a daemon that hangs is killed. */
const END_MS = 60_000
const LINES_TOLD = 3
/** Checked at a start, as a running daemon keeps the file open. */
const LOG_BYTES_MAX = 4 * 1024 * 1024

/**
 * The daemon of one node, in its own session: Ctrl-C, and anything that kills a whole process group, reaches only the
 * parent. The daemon ends on its own when the channel to its parent closes, however that happens.
 */
export class NodeProcess {
  readonly start: NodeStart
  readonly #onEnded: (how: string) => void
  #child: ChildProcess | undefined
  #ended: Promise<string> = Promise.resolve('was not started')
  #runs: (() => void)[] = []
  /** The first login as last reported. */
  #told: { readonly email?: string | undefined; readonly password?: string | undefined } = {}
  #demoUrl: string | undefined
  /** Whether the daemon was cut off, so that its programs may still be serving. */
  #wasCutOff = false

  constructor(start: NodeStart, onEnded: (how: string) => void) {
    this.start = start
    this.#onEnded = onEnded
  }

  get place(): NodePlace {
    return this.start.place
  }
  /** Undefined while the daemon is not running. */
  get pid(): number | undefined {
    return this.#child?.pid
  }
  get isRunning(): boolean {
    return this.#child !== undefined
  }
  get wasCutOff(): boolean {
    return this.#wasCutOff
  }
  get firstLogin(): { readonly email?: string | undefined; readonly password?: string | undefined } {
    return this.#told
  }
  get demoUrl(): string | undefined {
    return this.#demoUrl
  }
  get logFile(): string {
    return join(this.place.state, 'daemon.log')
  }

  begin(): void {
    const { program, args, env } = this.start
    mkdirSync(this.place.state, { recursive: true, mode: 0o700 })
    if ((statSync(this.logFile, { throwIfNoEntry: false })?.size ?? 0) > LOG_BYTES_MAX)
      renameSync(this.logFile, `${this.logFile}.1`)
    const log = openSync(this.logFile, 'a', 0o600)
    const child = fork(program, [...args], { detached: true, env: { ...env }, stdio: ['ignore', log, log, 'ipc'] })
    closeSync(log)
    this.#child = child
    this.#wasCutOff = false
    child.on('message', (report: Report) => this.#take(report))
    this.#ended = new Promise((resolve) => {
      child.on('error', (error) => resolve(error.message))
      child.on('exit', (code, signal) => {
        this.#wasCutOff = code !== 0
        resolve(signal === null ? `exit code ${code}` : `ended by ${signal}`)
      })
    })
    void this.#ended.then((how) => {
      this.#child = undefined
      this.#onEnded(how)
    })
  }

  #take(report: Report): void {
    if (report.state === 'listens') {
      const { email, password } = report
      if (email !== undefined) this.#told = { email, password }
      return
    }
    this.#demoUrl = report.demoUrl
    for (const resolve of this.#runs.splice(0)) resolve()
  }

  /** Resolves when the daemon next reports that it runs; rejects when it ends before. */
  async runs(): Promise<void> {
    const runs = new Promise<undefined>((resolve) => this.#runs.push(() => resolve(undefined)))
    const how = await Promise.race([runs, this.#ended])
    if (how !== undefined) throw new Error(`node ${this.place.number} has ended (${how}): ${this.#lastLines()}`)
  }

  #lastLines(): string {
    const lines = readFileSync(this.logFile, 'utf8').trim().split('\n').slice(-LINES_TOLD)
    return `${lines.join('\n')}\nmore is in ${this.logFile}`
  }

  /** Ends the daemon with the programs that it started. */
  async end(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    const overdue = setTimeout(() => child.kill('SIGKILL'), END_MS)
    child.kill('SIGTERM')
    await this.#ended
    clearTimeout(overdue)
  }
}
