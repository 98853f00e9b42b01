import type { MessagePort } from 'node:worker_threads'
import { Piscina } from 'piscina'
import type * as AcmeTasks from '../../workers/acme.ts'
import type * as AlertTasks from '../../workers/alerts.ts'
import type * as ComputeTasks from '../../workers/compute.ts'
import type * as ExpositionTasks from '../../workers/exposition.ts'
import type * as IntakeTasks from '../../workers/intake.ts'
import type * as ProbeTasks from '../../workers/probe.ts'
import type * as SystemTasks from '../../workers/system.ts'
import type { HostSettings } from '../../workers/host/host-settings.ts'
import { ApiError } from '../base/errors.ts'
import { TARGETS_MAX } from '../model/alerts.ts'

/** The exports of a task file that are tasks: functions of one plain value. */
type TaskName<T> = { [K in keyof T]: T[K] extends (input: never) => unknown ? K : never }[keyof T] & string
type Input<T, K extends keyof T> = T[K] extends (input: infer I) => unknown ? I : never
type Output<T, K extends keyof T> = T[K] extends (input: never) => infer O ? Awaited<O> : never

/**
 * Runs the tasks of one file: in threads, or inline in tests. An exception from a task is a defect; outcomes are
 * values. Refuses with TOO_MANY_AT_ONCE when too many wait.
 */
export interface Pool<T> {
  run<K extends TaskName<T>>(name: K, input: Input<T, K>, transfer?: readonly MessagePort[]): Promise<Output<T, K>>
  close(): Promise<void>
}

export interface PoolOptions {
  readonly threads: number
  /** Number of tasks that one thread runs at once, for a single thread whose tasks mostly wait; 1 when absent. */
  readonly tasksPerThread?: number
  /** An unused thread ends after this time; its memory (about 20 MB) is worth more than its start (about 50 ms). */
  readonly idle_ms: number
  /** Number of tasks of one name that may wait. */
  readonly queue_max: number
  /**
   * Whether tasks of another name go first, so that many of one name block no other work. Otherwise in order of
   * arrival.
   */
  readonly isFair?: boolean
  /** Whether running tasks are cut off at the end: the next start begins them again. */
  readonly isCutOff?: boolean
  /** Plain data that every thread starts with. */
  readonly workerData: unknown
}

/**
 * Gives every task to the first thread: Piscina's own choice gives tasks that can be aborted to idle threads only. The
 * pool itself passes no more tasks than the thread may have.
 */
const firstThread = <T>(_: unknown, [thread]: readonly T[]): T | null => thread ?? null

/** A pool of threads. Piscina's own queue does not keep the order of arrival, so tasks wait here. */
export class WorkerPool<T> implements Pool<T> {
  readonly #pool: Piscina
  readonly #atOnce: number
  readonly #queue_max: number
  readonly #isFair: boolean
  readonly #isCutOff: boolean
  readonly #waiting: { readonly name: string; readonly begin: () => void }[] = []
  /** Ids of the threads that have loaded their modules. */
  readonly #ready = new Set<number>()
  /** Tasks passed to Piscina, kept to end those that wait for a thread that cannot start. */
  readonly #given = new Set<AbortController>()
  #busy = 0

  constructor(
    file: URL,
    { threads, tasksPerThread = 1, idle_ms, queue_max, isFair = false, isCutOff = false, workerData }: PoolOptions,
  ) {
    this.#isFair = isFair
    this.#isCutOff = isCutOff
    this.#atOnce = threads * tasksPerThread
    this.#queue_max = queue_max
    this.#pool = new Piscina({
      filename: file.href,
      workerData,
      minThreads: 0,
      maxThreads: threads,
      concurrentTasksPerWorker: tasksPerThread,
      ...(tasksPerThread === 1 ? {} : { loadBalancer: firstThread }),
      idleTimeout: idle_ms,
      // Awake between tasks as well, so that a program that it started is reaped when it ends.
      atomics: 'disabled',
    })
    this.#pool.on('workerCreate', ({ id }: { id: number }) => this.#ready.add(id))
    this.#pool.on('workerDestroy', ({ id }: { id: number }) => this.#ready.delete(id))
    // An error in a thread without a task: it has no other handler, and would end the whole process.
    this.#pool.on('error', (error: unknown) => this.#endWaiting(error))
  }

  /** Ends waiting tasks, unless other threads are running, one of which takes them. */
  #endWaiting(why: unknown): void {
    if (this.#ready.size > 0) return
    for (const task of this.#given) task.abort(why)
  }

  /**
   * Runs a task. The cast is sound: Piscina returns the result of the export `name` of the very file that `T`
   * describes.
   */
  async run<K extends TaskName<T>>(
    name: K,
    input: Input<T, K>,
    transfer: readonly MessagePort[] = [],
  ): Promise<Output<T, K>> {
    const turn = this.#turn(name)
    // Without a wait, the task has its thread at once, and `close` waits for that.
    if (turn !== undefined) await turn
    const task = new AbortController()
    const { signal } = task
    this.#given.add(task)
    try {
      return (await this.#pool.run(input, { name, transferList: [...transfer], signal })) as Output<T, K>
    } catch (error) {
      if (!signal.aborted) throw error
      throw new Error(`no thread could be started: ${String(signal.reason)}`, { cause: error })
    } finally {
      this.#given.delete(task)
      const next = this.#next(name)
      if (next === undefined) this.#busy -= 1
      else next.begin()
    }
  }

  #turn(name: string): Promise<void> | undefined {
    if (this.#busy < this.#atOnce) {
      this.#busy += 1
      return undefined
    }
    if (this.#waiting.filter((task) => task.name === name).length >= this.#queue_max) return refused()
    return new Promise((begin) => this.#waiting.push({ name, begin }))
  }

  #next(ended: string) {
    const other = this.#isFair ? this.#waiting.findIndex(({ name }) => name !== ended) : 0
    return this.#waiting.splice(Math.max(0, other), 1)[0]
  }

  /**
   * Waits for running tasks; waiting ones are refused. Also waits for threads that still load their modules: Node 22
   * aborts the whole process when one is ended while it links them, and Piscina would refuse its tasks.
   */
  async close(): Promise<void> {
    for (;;) {
      const starting = this.#pool.threads.filter(({ threadId }) => !this.#ready.has(threadId))
      if (starting.length === 0) return this.#isCutOff ? this.#pool.destroy() : this.#pool.close()
      // The threads may be all that keeps the process alive while it waits for them.
      for (const thread of starting) thread.ref()
      await new Promise((resolve) => {
        this.#pool.once('workerCreate', resolve)
        this.#pool.once('workerDestroy', resolve)
      })
    }
  }
}

function refused(): Promise<never> {
  const message = 'Too many requests are waiting for this; try again in a few seconds'
  return Promise.reject(new ApiError('TOO_MANY_AT_ONCE', message, { headers: { 'Retry-After': '3' } }))
}

/** The tasks as functions with the parameters of each task. */
type TaskFunctions<T> = {
  readonly [K in TaskName<T>]: (
    ...input: T[K] extends (...input: infer I extends unknown[]) => unknown ? I : never
  ) => Promise<Output<T, K>>
}

/** Returns the tasks of a pool as functions, without a list to maintain; those in `own` take precedence. */
export function withTasks<T, O extends object>(pool: Pool<T>, own: O): O & Omit<TaskFunctions<T>, keyof O> {
  const get = (_: O, name: string): unknown =>
    Reflect.get(own, name) ?? ((input: never) => pool.run(name as never, input))
  return new Proxy(own, { get }) as O & Omit<TaskFunctions<T>, keyof O>
}

/** The same tasks without threads. */
export class InlinePool<T> implements Pool<T> {
  readonly #tasks: T

  constructor(tasks: T) {
    this.#tasks = tasks
  }

  async run<K extends TaskName<T>>(name: K, input: Input<T, K>): Promise<Output<T, K>> {
    const task = this.#tasks[name] as (value: Input<T, K>) => Output<T, K> | Promise<Output<T, K>>
    return task(input)
  }

  async close(): Promise<void> {}
}

export type SystemPool = Pool<typeof SystemTasks>

/** The only pool that changes the machine: one thread, in order of arrival. */
export function systemPool(settings: HostSettings): SystemPool {
  return new WorkerPool<typeof SystemTasks>(new URL('../../workers/system.ts', import.meta.url), {
    threads: 1,
    idle_ms: 60_000,
    queue_max: 64,
    workerData: settings,
  })
}

export type ComputePool = Pool<typeof ComputeTasks>

/** Work on bytes, off the main thread. One thread: a large backup takes a lot of memory while it is parsed. */
export function computePool(): ComputePool {
  return new WorkerPool<typeof ComputeTasks>(new URL('../../workers/compute.ts', import.meta.url), {
    threads: 1,
    idle_ms: 30_000,
    // A search of the audit log queues again for each of its files; there are no more searches at once than this.
    queue_max: 16,
    isFair: true,
    workerData: undefined,
  })
}

export type AcmePool = Pool<typeof AcmeTasks>

/**
 * Steps with a CA, one after the other. The thread ends soon after the last: steps are rare, and it uses much memory.
 */
export function acmePool(): AcmePool {
  return new WorkerPool<typeof AcmeTasks>(new URL('../../workers/acme.ts', import.meta.url), {
    threads: 1,
    idle_ms: 10_000,
    queue_max: 4,
    isCutOff: true,
    workerData: undefined,
  })
}

export type AlertPool = Pool<typeof AlertTasks>

/** Messages to alert targets: each target has one task at a time, and none waits for another. */
export function alertPool(): AlertPool {
  return new WorkerPool<typeof AlertTasks>(new URL('../../workers/alerts.ts', import.meta.url), {
    threads: 1,
    // All targets, and some tests.
    tasksPerThread: TARGETS_MAX + 8,
    idle_ms: 60_000,
    queue_max: 8,
    isCutOff: true,
    workerData: undefined,
  })
}

export type IntakePool = Pool<typeof IntakeTasks>

/** Checks uploaded files. */
export function intakePool(): IntakePool {
  return new WorkerPool<typeof IntakeTasks>(new URL('../../workers/intake.ts', import.meta.url), {
    threads: 1,
    idle_ms: 10_000,
    queue_max: 4,
    workerData: undefined,
  })
}

export type ExpositionPool = Pool<typeof ExpositionTasks>

/**
 * Writes and compresses large metrics, at a lower priority. The thread stays alive between scrapes of one per minute.
 */
export function expositionPool(): ExpositionPool {
  return new WorkerPool<typeof ExpositionTasks>(new URL('../../workers/exposition.ts', import.meta.url), {
    threads: 1,
    idle_ms: 70_000,
    // Two forms of the metrics, each compressed in two ways.
    queue_max: 4,
    isCutOff: true,
    workerData: undefined,
  })
}

export type ProbePool = Pool<typeof ProbeTasks>

/** Reads of the machine. The thread ends soon after the last: they are rare. */
export function probePool(settings: HostSettings): ProbePool {
  return new WorkerPool<typeof ProbeTasks>(new URL('../../workers/probe.ts', import.meta.url), {
    threads: 1,
    idle_ms: 30_000,
    queue_max: 256,
    workerData: settings,
  })
}

/** Health checks that a user tries out. */
export function checkPool(settings: HostSettings): ProbePool {
  return new WorkerPool<typeof ProbeTasks>(new URL('../../workers/probe.ts', import.meta.url), {
    threads: 2,
    idle_ms: 30_000,
    queue_max: 8,
    workerData: settings,
  })
}
