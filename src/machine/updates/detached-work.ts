import { readdir, readFile, rm } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { DetachedPlan, DetachedStatus } from '../../../workers/detached/plan.ts'
import type { PlanExecutor } from '../../config/enactor.ts'
import type { Step } from '../../drivers/driver.ts'
import { ApiError } from '../../base/errors.ts'
import type { JobHandle } from '../../jobs/jobs.ts'
import { bootIdHere, isAlive } from '../../base/process-mark.ts'

const PROGRAM = fileURLToPath(new URL('../../../workers/detached.ts', import.meta.url))
const WATCH_EVERY_MS = 250
/** A started program must report within this time. */
const FIRST_WORD_MS = 20_000
/** When the machine shuts down, its programs end in any order: this daemon is also told to end within this time. */
const GOING_DOWN_MS = 5000
/** Bytes of the log to read when the daemon resumes work that continued without it. */
const TAKEN_UP_BYTES = 4096
const START_TIMEOUT_MS = 30_000
const STARTS_MAX = 60
const AGAIN_MS = 1000

export interface DetachedParts {
  readonly executor: Pick<PlanExecutor, 'execute'>
  /** State folder of this daemon: each job has a folder in jobs/. */
  readonly stateFolder: string
  /** File that names the proxy for started programs, if there is one. */
  readonly environmentFile: string
}

/** Work in a unit of its own, which continues without this daemon; here it is started, watched, and resumed. */
export class DetachedWork {
  readonly #parts: DetachedParts
  readonly #root: string
  /** Jobs that this run of the daemon is watching. */
  readonly #here = new Set<string>()
  #isClosing = false

  constructor(parts: DetachedParts) {
    this.#parts = parts
    this.#root = join(parts.stateFolder, 'jobs')
  }

  /** Returns whether the work may have begun, in this process or an earlier one. */
  isBegun(id: string): boolean {
    return existsSync(join(this.folderOf(id), 'plan.json'))
  }

  folderOf(id: string): string {
    return join(this.#root, id)
  }

  /**
   * Resolves when the plan has succeeded, even if an earlier process began it; a failure is an ApiError with the last
   * lines of the output.
   */
  async run(job: Pick<JobHandle, 'id' | 'report'>, plan: DetachedPlan): Promise<void> {
    this.#here.add(job.id)
    try {
      await this.#run(job, plan)
    } finally {
      this.#here.delete(job.id)
    }
  }

  async #run(job: Pick<JobHandle, 'id' | 'report'>, plan: DetachedPlan): Promise<void> {
    const file = join(this.folderOf(job.id), 'plan.json')
    if (!existsSync(file)) await this.#write(file, plan)
    const isTakenUp = (await this.#status(job.id)) !== undefined
    let from = isTakenUp ? await this.#logEnd(job.id) : 0
    if (isTakenUp) job.report({ log: ['(the daemon was restarted)'] })
    for (;;) {
      const status = await this.#status(job.id)
      from = await this.#tell(job, status, from)
      if (status?.state === 'succeeded') return
      if (status?.state === 'failed') throw failed(status.problem ?? 'no reason was given')
      if (await this.#isLeft(job.id, status)) await this.#begin(job.id, status)
      await this.#pause(WATCH_EVERY_MS)
    }
  }

  /** Returns whether the work has not ended although no process works on it. */
  async #isLeft(id: string, status: DetachedStatus | undefined): Promise<boolean> {
    if (status === undefined) return true
    if (isAlive(status.process)) return false
    // It may have ended between reading its status and looking for its process.
    return (await this.#status(id))?.state === 'running'
  }

  /** Returns the output file of a step; '' if it does not exist. */
  async output(id: string, name: string): Promise<string> {
    return readText(join(this.folderOf(id), name))
  }

  /** Removes the folders of jobs that are no longer kept. */
  async tidy(isKept: (id: string) => boolean): Promise<void> {
    const names = existsSync(this.#root) ? await readdir(this.#root) : []
    for (const name of names) {
      if (!this.#here.has(name) && !isKept(name)) await rm(this.folderOf(name), { recursive: true, force: true })
    }
  }

  /** Stops reporting progress: the next daemon resumes the work. */
  close(): void {
    this.#isClosing = true
  }

  async #write(path: string, plan: DetachedPlan): Promise<void> {
    const content = `${JSON.stringify(plan)}\n`
    const why = 'write the work plan'
    const common = { mode: 0o600, checked: false, timeout_ms: START_TIMEOUT_MS } as const
    const problem = await this.#problemOf({ kind: 'replaceFile', path, content, why, ...common })
    if (problem !== undefined) throw failed(problem)
  }

  /** Starts or restarts it, and waits for its first report. */
  async #begin(id: string, before: DetachedStatus | undefined): Promise<void> {
    if (before !== undefined) await this.#pause(GOING_DOWN_MS)
    for (let attempt = 1; ; attempt++) {
      const problem = await this.#problemOf({
        kind: 'run',
        argv: this.#startArgv(id),
        undo: 'irreversible',
        why: 'start the detached process',
        timeout_ms: START_TIMEOUT_MS,
      })
      if (problem === undefined) break
      // The rest of its unit is about to end, or the work has begun and not reported yet.
      if (!problem.includes('already') || attempt === STARTS_MAX) throw failed(problem)
      await this.#pause(AGAIN_MS)
      const status = await this.#status(id)
      if (status !== undefined && (status.state !== 'running' || isAlive(status.process))) return
    }
    const deadline_ms = performance.now() + FIRST_WORD_MS
    while (performance.now() < deadline_ms) {
      const status = await this.#status(id)
      if (status !== undefined && (status.starts !== before?.starts || status.state !== 'running')) return
      await this.#pause(WATCH_EVERY_MS)
    }
    throw failed('the detached process does not report its state')
  }

  #startArgv(id: string): readonly string[] {
    const run = [process.execPath, '--disable-warning=ExperimentalWarning', PROGRAM, this.folderOf(id), bootIdHere()]
    if (!existsSync('/run/systemd/system')) return ['setsid', '--fork', ...run, '--background']
    const properties = [
      `EnvironmentFile=-${this.#parts.environmentFile}`,
      // A running program may finish when the machine shuts down; the rest is killed.
      'KillMode=mixed',
      'TimeoutStopSec=60',
      'OOMPolicy=continue',
    ]
    const unit = ['--quiet', '--collect', `--unit=fulcrum-job-${id}`, `--description=Fulcrum job ${id}`]
    return ['systemd-run', ...unit, ...properties.map((property) => `--property=${property}`), ...run]
  }

  async #problemOf(step: Step): Promise<string | undefined> {
    const result = await this.#open(this.#parts.executor.execute([step]))
    return result.ok ? undefined : `${result.why}: ${result.output}`
  }

  async #status(id: string): Promise<DetachedStatus | undefined> {
    const text = await this.#open(readText(join(this.folderOf(id), 'status.json')))
    return text === '' ? undefined : JSON.parse(text)
  }

  async #logEnd(id: string): Promise<number> {
    return Math.max(0, Buffer.byteLength(await this.output(id, 'log')) - TAKEN_UP_BYTES)
  }

  /** Reports new lines of the log, and resolves with the position after them. */
  async #tell(
    job: Pick<JobHandle, 'id' | 'report'>,
    status: DetachedStatus | undefined,
    from: number,
  ): Promise<number> {
    const log = Buffer.from(await this.output(job.id, 'log'))
    const end = log.lastIndexOf('\n') + 1
    const news = end > from ? log.toString('utf8', from, end).split('\n').slice(0, -1) : []
    const at = status === undefined ? {} : { progress: status.progress, step: status.text }
    if (news.length > 0 || status !== undefined) job.report({ ...at, log: news })
    return Math.max(from, end)
  }

  /** Waits for the work only while this daemon runs: a failure because the daemon ends is no failure of the work. */
  async #open<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      if (this.#isClosing) return await forever()
      throw error
    } finally {
      if (this.#isClosing) await forever()
    }
  }

  async #pause(time_ms: number): Promise<void> {
    await this.#open(sleep(time_ms))
  }
}

const forever = (): Promise<never> => new Promise(() => undefined)

const failed = (message: string) => new ApiError('APPLY_PARTIAL', message)

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}
