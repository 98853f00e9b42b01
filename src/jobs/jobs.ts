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
/** The copy on the disk is only for the next start after a crash. */
const STORE_PROGRESS_EVERY_MS = 1000

/** What the work of a job is given. */
export interface JobHandle {
  readonly id: string
  /** Aborted when somebody cancels the job. The work ends by throwing. */
  readonly signal: AbortSignal
  /**
   * Aborted when the daemon ends, or begins anew: work that only waits ends by throwing, and the next start takes it
   * up.
   */
  readonly ending: AbortSignal
  report(news: JobNews): void
}
export interface JobNews {
  /** Percent; null when nobody can tell. */
  readonly progress?: number | null
  readonly step?: string
  /** Lines of output; never a secret. */
  readonly log?: readonly string[]
  /** From here on it can be cancelled, or not any more. */
  readonly canCancel?: boolean
  /** What the next start is to know. */
  readonly memory?: unknown
}

/** Somebody has taken back what the job was for: that is no failure. */
export class GivenUp extends ApiError {}

/** One kind of long work. `memory` is what the work needs to know; JSON, kept with the job, not shown to anybody. */
export interface JobKind<M> {
  readonly kind: string
  readonly title: string
  /** Jobs of one group exclude each other; another start is refused with JOB_IN_PROGRESS. */
  readonly group: string
  /** Answers the result, a JSON value. Throwing an ApiError ends the job with its code. */
  work(job: JobHandle, memory: M): Promise<unknown>
  /**
   * The daemon ended while the job was running: goes on, or finds out what came of it. Without it such a job has
   * failed. What of the work outlives the daemon, or was not begun, only the kind knows.
   */
  readonly resume?: (job: JobHandle, memory: M) => Promise<unknown>
}

/** What starts jobs, with every kind that an earlier run of the daemon may have left under way. */
export interface WithKinds {
  readonly kinds: readonly JobKind<never>[]
}

/** What one job is about, where its kind does not say it; `id`: as somebody else knows it. */
type About<M> = Partial<Pick<JobKind<M>, 'title' | 'group'>> & Pick<Job, 'resourceId'> & { readonly id?: string }

type Stored = Job & { readonly memory: unknown; readonly group: string }
interface Active {
  readonly abort: AbortController
  storedAt_ms: number
}

/** The refusal of what may not begin while a job is under way. */
export function excludedBy({ id, title }: Job, retryAfter_s: number, hint = 'wait for its end'): ApiError {
  const message = `The job ${id} (${title}) is still running; ${hint}`
  return new ApiError('JOB_IN_PROGRESS', message, {
    data: { job: id },
    headers: { 'Retry-After': String(retryAfter_s) },
  })
}

/**
 * All long work of this node. Started jobs are on the disk before they are answered for; a restart of the daemon loses
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

  /** Whether a job of this group is under way. */
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
   * Resolves with the id when the job is on the disk; its work goes on. What is `about` one thing has its own title, or
   * group.
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
    // Before it is durable, so that of two requests at once one is refused.
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
    const why = isRunning ? 'cannot be ended safely now' : `has ended already (${job.state})`
    if (!isRunning || !job.canCancel) throw new ApiError('NOT_SUPPORTED', `The job ${id} ${why}`)
    this.#active.get(id)?.abort.abort()
  }

  /** After a start of the daemon: takes up, or ends, what was running when it ended. */
  resume(kinds: readonly JobKind<never>[]): void {
    // What was started meanwhile is under way.
    const left = [...this.#jobs.values()].filter(({ id, state }) => state === 'running' && !this.#active.has(id))
    for (const job of left) {
      const resume = kinds.find(({ kind }) => kind === job.kind)?.resume
      const interrupted = async () => {
        throw new ApiError('INTERNAL', 'The daemon ended while this job was running; start it again')
      }
      this.#run(job.id, resume === undefined ? interrupted : (handle) => resume(handle, job.memory as never))
    }
  }

  /**
   * Waits, for a bounded time, until what is told of ended jobs is on the disk. Jobs under way are taken up by the next
   * start.
   */
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
        // What it works with is taken away from it; the next start takes it up.
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
    const message = `Something is wrong with the daemon; its log explains ${id}`
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
    // Told when it is on the disk: nobody hears of an end that a crash takes back.
    const stored = this.#store(ended).then(() => this.#tell(ended))
    this.#ended.add(stored)
    void stored.finally(() => this.#ended.delete(stored))
  }

  /** What cannot be written now stands in the log; the job is taken up again after a restart. */
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

  /** Ended jobs beyond the number that is kept, oldest first. */
  #expired(): readonly string[] {
    const ended = [...this.#jobs.values()].filter(({ state }) => state !== 'running')
    const expired = ended.slice(0, Math.max(0, this.#jobs.size - KEPT_MAX)).map(({ id }) => id)
    for (const id of expired) this.#jobs.delete(id)
    return expired
  }

  #known(id: string): Stored {
    const job = this.#jobs.get(id)
    if (job !== undefined) return job
    throw new ApiError('NOT_FOUND', `There is no job ${id}; the last ${KEPT_MAX} are kept`)
  }
  #now = (): string => new Date(this.#clock.now_ms()).toISOString()
}

function shown(job: Stored): Job {
  const { memory: _, group: __, ...rest } = job
  return rest
}
