import { appendFileSync, existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { replaceFileDurably } from '../host/durable-files.ts'
import type { DetachedPlan, DetachedStatus, DetachedStep, ProgramStep } from './plan.ts'
import { ownMark } from '../../src/base/process-mark.ts'
import { runToEnd } from './program.ts'
import { aptProgress } from './status-fd.ts'
import { changeSuites, putBack } from './suites.ts'
import { reasonOf } from '../../src/base/reason.ts'

const PLAN_FILE = 'plan.json'
const STATUS_FILE = 'status.json'
const LOG_FILE = 'log'
const LOG_BYTES_MAX = 1024 * 1024
const LINE_LENGTH_MAX = 500
/** Lines of output that are reported with a failure. */
const LAST_LINES = 12
const TELL_EVERY_MS = 300
const STARTS_MAX = 8
const ATTEMPTS_MAX = 60
const RETRY_AFTER_MS = 3000
/** User and password in a URL. */
const CREDENTIALS = /(:\/\/)[^\s/@]+@/g

/**
 * One run of a plan, from where the previous one ended. When `isStopping` is true, it ends after the current program.
 */
export class PlanRun {
  readonly #folder: string
  readonly #plan: DetachedPlan
  readonly #mark: DetachedStatus['process']
  readonly #isStopping: () => boolean
  readonly #last: string[] = []
  #status: DetachedStatus
  #logBytes: number
  #writing: Promise<void> = Promise.resolve()
  #toldAt_ms = 0

  /** `bootId` identifies the boot of the machine, as the daemon sees it. */
  constructor(folder: string, bootId: string, isStopping: () => boolean = () => false) {
    this.#folder = folder
    this.#mark = ownMark(bootId)
    this.#isStopping = isStopping
    this.#plan = JSON.parse(readFileSync(join(folder, PLAN_FILE), 'utf8'))
    const log = join(folder, LOG_FILE)
    this.#logBytes = existsSync(log) ? statSync(log).size : 0
    const fresh: DetachedStatus = {
      state: 'running',
      step: 0,
      text: '',
      progress: 0,
      starts: 0,
      problem: null,
      process: this.#mark,
    }
    const file = join(folder, STATUS_FILE)
    this.#status = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : fresh
  }

  async run(): Promise<void> {
    if (this.#status.state !== 'running') return
    const starts = this.#status.starts + 1
    await this.#tell({ starts, process: this.#mark })
    if (starts > STARTS_MAX) return this.#fail('go on', `it was interrupted ${starts - 1} times`)
    if (starts > 1) await this.#repair()
    const { steps } = this.#plan
    for (let index = this.#status.step; index < steps.length; index++) {
      const step = steps[index]
      if (step === undefined || this.#isStopping()) return undefined
      await this.#mention({ step: index, text: step.why, progress: this.#progress(index, 0) })
      const problem = await this.#perform(step, index)
      if (problem === undefined || isForgiven(step)) continue
      if (this.#isStopping()) return undefined
      const output = this.#last.slice(-LAST_LINES).join('\n')
      for (const other of otherwise(step)) await this.#perform(other, index)
      return this.#fail(step.why, `${problem}\n${output}`.trim())
    }
    return this.#end({ state: 'succeeded', step: steps.length, text: '', progress: 100 })
  }

  async #repair(): Promise<void> {
    this.#log('(interrupted; continuing)')
    for (const step of this.#plan.repair) {
      await this.#mention({ text: step.why })
      await this.#perform(step, this.#status.step)
    }
  }

  #perform(step: DetachedStep, index: number): Promise<string | undefined> {
    this.#last.length = 0
    this.#log(`# ${step.why}`)
    if (step.kind === 'suites') return changeSuites(this.#folder, step)
    if (step.kind === 'putBack') return putBack(this.#folder)
    return this.#program(step, index)
  }

  async #program(step: ProgramStep, index: number): Promise<string | undefined> {
    let whole = ''
    const told = {
      line: (text: string) => this.#log(text),
      status: (text: string) => this.#follow(step, index, text),
      output: (text: string) => void (whole = text),
    }
    let problem = await runToEnd(step, told)
    for (let attempt = 1; problem !== undefined && attempt < ATTEMPTS_MAX && this.#passes(step); attempt++) {
      await sleep(RETRY_AFTER_MS)
      problem = await runToEnd(step, told)
    }
    if (step.output !== undefined) {
      const lost = await this.#keep(step.output, whole)
      problem ??= lost
    }
    return this.#judged(step, problem)
  }

  /** Stores the output of a program. Returns why it could not be stored, or undefined. */
  async #keep(name: string, output: string): Promise<string | undefined> {
    try {
      await replaceFileDurably(join(this.#folder, name), output, 0o600)
      return undefined
    } catch (error) {
      return reasonOf(error)
    }
  }

  #judged({ doneWhen, isSilent }: ProgramStep, problem: string | undefined): string | undefined {
    // The first line is the description of the step.
    const said = this.#last.slice(1).join('\n')
    if (problem === undefined) return isSilent === true && said !== '' ? 'there is something to say' : undefined
    return doneWhen !== undefined && said.includes(doneWhen) ? undefined : problem
  }

  #passes({ retriedFor }: ProgramStep): boolean {
    return retriedFor !== undefined && !this.#isStopping() && this.#last.slice(-2).join().includes(retriedFor)
  }

  #follow(step: DetachedStep, index: number, line: string): void {
    const told = aptProgress(line)
    if (told === undefined) return
    const now_ms = performance.now()
    if (now_ms - this.#toldAt_ms < TELL_EVERY_MS) return
    this.#toldAt_ms = now_ms
    const progress = Math.max(this.#status.progress, this.#progress(index, told.share))
    void this.#mention({ text: `${step.why}: ${told.text}`, progress })
  }

  /** Progress in percent when this share of the step with this index is done. */
  #progress(index: number, share: number): number {
    const weights = this.#plan.steps.map(({ weight }) => weight)
    const sum = (some: readonly number[]) => some.reduce((total, weight) => total + weight, 0)
    const done = sum(weights.slice(0, index)) + (weights[index] ?? 0) * share
    return Math.min(99, Math.floor((100 * done) / Math.max(1, sum(weights))))
  }

  #fail(why: string, problem: string): Promise<void> {
    return this.#end({ state: 'failed', problem: `${why}: ${problem}` })
  }

  /** Reports without waiting for room on a full disk: if the report is lost, a new run begins a step too early. */
  async #mention(news: Partial<DetachedStatus>): Promise<void> {
    await this.#tell(news).catch(() => undefined)
  }

  /** Reports the end. No other process will report it, so it is retried on a full disk. */
  async #end(news: Partial<DetachedStatus>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#tell(news)
      } catch (error) {
        if (attempt === ATTEMPTS_MAX) throw error
      }
      await sleep(RETRY_AFTER_MS)
    }
  }

  /** Reports are written in the order of the calls; each is on disk when its promise resolves. */
  #tell(news: Partial<DetachedStatus>): Promise<void> {
    this.#status = { ...this.#status, ...news }
    const text = `${JSON.stringify(this.#status)}\n`
    const written = this.#writing.catch(() => undefined)
    this.#writing = written.then(() => replaceFileDurably(join(this.#folder, STATUS_FILE), text, 0o600))
    return this.#writing
  }

  #log(line: string): void {
    const text = line.replaceAll(CREDENTIALS, '$1**@').slice(0, LINE_LENGTH_MAX)
    this.#last.push(text)
    if (this.#last.length > 4 * LAST_LINES) this.#last.splice(0, 2 * LAST_LINES)
    if (this.#logBytes > LOG_BYTES_MAX) return
    this.#logBytes += Buffer.byteLength(text) + 1
    const end = this.#logBytes > LOG_BYTES_MAX ? '\n(the log is full; further output is not stored)' : ''
    try {
      appendFileSync(join(this.#folder, LOG_FILE), `${text}${end}\n`, { mode: 0o600 })
    } catch {
      // The disk is full, perhaps because of the running program: ending it would leave its work half done.
    }
  }
}

const isForgiven = (step: DetachedStep) => step.kind === 'program' && step.mayFail === true

const otherwise = (step: DetachedStep) => (step.kind === 'program' ? (step.otherwise ?? []) : [])
