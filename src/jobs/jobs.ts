import type { SideTable } from '../../storage/config/config-store.ts'
import type { JobsActor } from '../context/jobs.ts'
import type { Clock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import type { Events } from '../events/events.ts'
import { newId } from '../base/ids.ts'
import { type Log, logDefect } from '../base/log.ts'
import type { Job } from '../model/job.ts'

const KEPT_MAX = 200
const LOG_LINES_MAX = 200
const LINE_LENGTH_MAX = 500
/** How often progress is written to disk, where only a start after a crash needs it. */
const STORE_PROGRESS_EVERY_MS = 1000

/** What the work of a job can use. */
export interface JobHandle {
  readonly id: string
  /** Aborted if a user cancels the job. The work ends by throwing. */
  readonly signal: AbortSignal
  /** Aborted if the daemon ends or restarts: work that only waits ends by throwing, and the next start resumes it. */
  readonly ending: AbortSignal
  report(news: JobNews): void
}
export interface JobNews {
  /** Percent; null if unknown. */
  readonly progress?: number | null
  readonly step?: string
  /** Lines of output, which must not contain a secret. */
  readonly log?: readonly string[]
  /** Whether it can be cancelled from now on. */
  readonly canCancel?: boolean
  /** New memory for the next start. */
  readonly memory?: unknown
}

/** Thrown if a user has taken back the purpose of the job, which is no failure. */
export class GivenUp extends ApiError {}

/** One kind of long work. `memory` is the work's input, as JSON; it is stored with the job and shown to nobody. */
export interface JobKind<M> {
  readonly kind: string
  readonly title: string
  /** Jobs of one group exclude each other; a second start is refused with JOB_IN_PROGRESS. */
  readonly group: string
  /** Resolves with the result, a JSON value. Throwing an ApiError ends the job with its code. */
  work(job: JobHandle, memory: M): Promise<unknown>
  /**
   * Continues a job during which the daemon ended, or finds out its outcome. Without this function such a job has
   * failed. Only the kind knows which part of the work outlives the daemon, or was not begun.
   */
  readonly resume?: (job: JobHandle, memory: M) => Promise<unknown>
}

/** Implemented by whatever starts jobs: every kind that an earlier run of the daemon may have left under way. */
export interface WithKinds {
  readonly kinds: readonly JobKind<never>[]
}

/** The subject of one job, if its kind does not say it; `id` is an id that others already know. */
type About<M> = Partial<Pick<JobKind<M>, 'title' | 'group'>> & Pick<Job, 'resourceId'> & { readonly id?: string }

type Stored = Job & { readonly memory: unknown; readonly group: string }
interface Active {
  readonly abort: AbortController
  storedAt_ms: number
}

/** Returns the refusal of something that excludes a job under way. */
export function excludedBy({ id, title }: Job, retryAfter_s: number, hint = 'wait until it ends'): ApiError {
  const message = `The job ${id} (${title}) is still running; ${hint}`
  return new ApiError('JOB_IN_PROGRESS', message, {
    data: { job: id },
    headers: { 'Retry-After': String(retryAfter_s) },
  })
}

/**
 * All long work of this node. A started job is on the disk before its start is answered; a restart of the daemon loses
 * none.
 */
export class Jobs implements JobsActor {
  readonly #table: SideTable
  readonly #events: Pick<Events, 'publish'>
  readonly #clock: Clock
  readonly #log: Log
  readonly #jobs = new Map<string, Stored>()
  readonly #active = new Map<string, Active>()
  readonly #ended = new Set<Promise<void>>()
  readonly #ending = new AbortController()

  constructor(table: SideTable, events: Pick<Events, 'publish'>, clock: Clock, log: Log) {
    this.#table = table
    this.#events = events
    this.#clock = clock
    this.#log = log
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by #store only
    for (const { key, value } of table.entries()) this.#jobs.set(key, value as Stored)
  }

  list(): readonly Job[] {
    return [...this.#jobs.values()].toReversed().map(shown)
  }

  get(id: string): Job {
    return shown(this.#known(id))
  }

  find(id: string): Job | undefined {
    const job = this.#jobs.get(id)
    return job && shown(job)
  }

  /** Returns the job of this group that is under way, if any. */
  running(group: string): Job | undefined {
    const found = [...this.#jobs.values()].find((job) => job.state === 'running' && job.group === group)
    return found === undefined ? undefined : shown(found)
  }

  /** Refuses with JOB_IN_PROGRESS while a job of this group is under way. */
  refuseBeside(group: string): void {
    const other = this.running(group)
    if (other !== undefined) throw excludedBy(other, 5)
  }

  /**
   * Resolves with the id when the job is on the disk; its work continues. `about` overrides title and group for a job
   * with a subject of its own.
   */
  async start<M>(kind: JobKind<M>, memory: M, by: string, about: About<M> = {}): Promise<string> {
    const { group, title, id, resourceId } = { id: newId(), ...kind, ...about }
    this.refuseBeside(group)
    const job: Stored = {
      id,
      kind: kind.kind,
      title,
      state: 'running',
      progress: null,
      step: '',
      log: [],
      result: null,
      problem: null,
      by,
      startedAt: this.#now(),
      endedAt: null,
      ...(resourceId === undefined ? {} : { resourceId }),
      canCancel: false,
      memory,
      group,
    }
    // Added before it is durable, so that one of two simultaneous requests is refused.
    this.#jobs.set(job.id, job)
    try {
      await this.#table.write([{ key: job.id, value: job }], this.#expired())
    } catch (error) {
      this.#jobs.delete(job.id)
      throw error
    }
    this.#tell(job)
    this.#run(job.id, (handle) => kind.work(handle, memory))
    return job.id
  }

  cancel(id: string): void {
    const job = this.#known(id)
    const isRunning = job.state === 'running'
    const why = isRunning ? 'cannot be ended safely now' : `has already ended (${job.state})`
    if (!isRunning || !job.canCancel) throw new ApiError('NOT_SUPPORTED', `The job ${id} ${why}`)
    this.#active.get(id)?.abort.abort()
  }

  /** After a start of the daemon: resumes or ends the jobs that were under way when it ended. */
  resume(kinds: readonly JobKind<never>[]): void {
    // Jobs that were started since are under way.
    const left = [...this.#jobs.values()].filter(({ id, state }) => state === 'running' && !this.#active.has(id))
    for (const job of left) {
      const resume = kinds.find(({ kind }) => kind === job.kind)?.resume
      const interrupted = async () => {
        throw new ApiError('INTERNAL', 'The daemon ended while this job was running; start it again')
      }
      this.#run(job.id, resume === undefined ? interrupted : (handle) => resume(handle, job.memory as never))
    }
  }

  /** Waits, for a bounded time, until the ends of jobs are on the disk. The next start resumes jobs under way. */
  async close(): Promise<void> {
    this.#ending.abort()
    await Promise.all(this.#ended)
  }

  #run(id: string, work: (handle: JobHandle) => Promise<unknown>): void {
    const abort = new AbortController()
    this.#active.set(id, { abort, storedAt_ms: this.#clock.monotonic_ms() })
    const [{ signal }, { signal: ending }] = [abort, this.#ending]
    const handle: JobHandle = { id, signal, ending, report: (news) => this.#report(id, news) }
    void work(handle).then(
      (result) => this.#end(id, { state: 'succeeded', progress: 100, result: result ?? null }),
      (error: unknown) => {
        // Its resources are being closed; the next start resumes it.
        if (this.#ending.signal.aborted && !(error instanceof ApiError)) return
        this.#end(id, this.#failure(id, error, abort.signal.aborted))
      },
    )
  }

  #failure(id: string, error: unknown, isCancelled: boolean): Partial<Stored> {
    if (error instanceof ApiError) {
      const isOver = isCancelled || error instanceof GivenUp
      return { state: isOver ? 'cancelled' : 'failed', problem: { code: error.code, message: error.message } }
    }
    if (isCancelled) return { state: 'cancelled' }
    logDefect(this.#log, error, { job: id })
    const message = `The daemon has a defect; see its log for ${id}`
    return { state: 'failed', problem: { code: 'INTERNAL', message } }
  }

  #report(id: string, { progress, step, log = [], canCancel, memory }: JobNews): void {
    const [job, active] = [this.#jobs.get(id), this.#active.get(id)]
    if (job === undefined || active === undefined) return
    const lines = log.map((line) => line.slice(0, LINE_LENGTH_MAX))
    const next: Stored = {
      ...job,
      progress: progress === undefined ? job.progress : progress,
      step: step ?? job.step,
      canCancel: canCancel ?? job.canCancel,
      memory: memory ?? job.memory,
      log: [...job.log, ...lines].slice(-LOG_LINES_MAX),
    }
    this.#jobs.set(id, next)
    const now_ms = this.#clock.monotonic_ms()
    if (now_ms - active.storedAt_ms < STORE_PROGRESS_EVERY_MS) return
    active.storedAt_ms = now_ms
    void this.#store(next)
  }

  #end(id: string, end: Partial<Stored>): void {
    const job = this.#jobs.get(id)
    if (job === undefined) return
    this.#active.delete(id)
    const ended: Stored = { ...job, ...end, endedAt: this.#now(), canCancel: false }
    this.#jobs.set(id, ended)
    // Published once it is on the disk, so that a crash cannot revoke a published end.
    const stored = this.#store(ended).then(() => this.#tell(ended))
    this.#ended.add(stored)
    void stored.finally(() => this.#ended.delete(stored))
  }

  /** A failed write is logged; the job is then resumed after a restart. */
  async #store(job: Stored): Promise<void> {
    try {
      await this.#table.put(job.id, job)
    } catch (error) {
      this.#log.error('a job could not be stored', { job: job.id, reason: String(error) })
    }
  }

  #tell({ id, kind, title, state, by, problem }: Stored): void {
    const fields = { id, kind, title, state, by, ...(problem === null ? {} : { problem }) }
    this.#log.info('job', { id, kind, state, by, ...(problem === null ? {} : { reason: problem.message }) })
    this.#events.publish('job', fields)
  }

  /** Returns the oldest ended jobs beyond the maximum. */
  #expired(): readonly string[] {
    const ended = [...this.#jobs.values()].filter(({ state }) => state !== 'running')
    const expired = ended.slice(0, Math.max(0, this.#jobs.size - KEPT_MAX)).map(({ id }) => id)
    for (const id of expired) this.#jobs.delete(id)
    return expired
  }

  #known(id: string): Stored {
    const job = this.#jobs.get(id)
    if (job !== undefined) return job
    throw new ApiError('NOT_FOUND', `There is no job ${id}; the last ${KEPT_MAX} are stored`)
  }
  #now = (): string => new Date(this.#clock.now_ms()).toISOString()
}

function shown(job: Stored): Job {
  const { memory: _, group: __, ...rest } = job
  return rest
}
