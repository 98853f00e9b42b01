import { Piscina } from 'piscina'
import type * as ComputeTasks from '../workers/compute.ts'
import type * as ProbeTasks from '../workers/probe.ts'
import type * as SystemTasks from '../workers/system.ts'
import type { HostSettings } from '../workers/host/host-settings.ts'

/** The exports of a task file that are tasks: functions of one plain value. */
type TaskName<T> = { [K in keyof T]: T[K] extends (input: never) => unknown ? K : never }[keyof T] & string
type Input<T, K extends keyof T> = T[K] extends (input: infer I) => unknown ? I : never
type Output<T, K extends keyof T> = T[K] extends (input: never) => infer O ? Awaited<O> : never

/** Runs the tasks of one file: in threads, or inline in tests. What a task throws is a defect; outcomes are values. */
export interface Pool<T> {
  run<K extends TaskName<T>>(name: K, input: Input<T, K>): Promise<Output<T, K>>
  close(): Promise<void>
}

export interface PoolOptions {
  readonly threads: number
  /** An unused thread ends after this time; its memory (about 20 MB) is worth more than its start (about 50 ms). */
  readonly idle_ms: number
  readonly queue_max: number
  /** Plain data that every thread starts with. */
  readonly workerData: unknown
}

/** A pool of threads. Piscina's own queue does not keep the order of arrival, so tasks wait here. */
export class WorkerPool<T> implements Pool<T> {
  readonly #pool: Piscina
  readonly #threads: number
  readonly #queue_max: number
  readonly #waiting: (() => void)[] = []
  #busy = 0

  constructor(file: URL, { threads, idle_ms, queue_max, workerData }: PoolOptions) {
    this.#threads = threads
    this.#queue_max = queue_max
    this.#pool = new Piscina({
      filename: file.href,
      workerData,
      minThreads: 0,
      maxThreads: threads,
      idleTimeout: idle_ms,
      // Awake between tasks as well, so that a program it started is reaped when it ends.
      atomics: 'disabled',
    })
  }

  /** The cast is sound: Piscina hands over what the export `name` of the very file that `T` describes returned. */
  async run<K extends TaskName<T>>(name: K, input: Input<T, K>): Promise<Output<T, K>> {
    await this.#turn()
    try {
      return (await this.#pool.run(input, { name })) as Output<T, K>
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#busy -= 1
      else next()
    }
  }

  #turn(): Promise<void> | undefined {
    if (this.#busy < this.#threads) {
      this.#busy += 1
      return undefined
    }
    if (this.#waiting.length >= this.#queue_max) return Promise.reject(new Error('too many tasks wait for a thread'))
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Waits for what runs; what still waits is refused. */
  close(): Promise<void> {
    return this.#pool.close()
  }
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
  return new WorkerPool<typeof SystemTasks>(new URL('../workers/system.ts', import.meta.url), {
    threads: 1,
    idle_ms: 5 * 60_000,
    queue_max: 64,
    workerData: settings,
  })
}

export type ComputePool = Pool<typeof ComputeTasks>

/** Work on bytes, beside the main thread. One thread: a large backup takes a lot of memory while it is parsed. */
export function computePool(): ComputePool {
  return new WorkerPool<typeof ComputeTasks>(new URL('../workers/compute.ts', import.meta.url), {
    threads: 1,
    idle_ms: 30_000,
    queue_max: 64,
    workerData: undefined,
  })
}

export type ProbePool = Pool<typeof ProbeTasks>

/** Reads of the machine. The thread ends soon after the last: they are rare. */
export function probePool(settings: HostSettings): ProbePool {
  return new WorkerPool<typeof ProbeTasks>(new URL('../workers/probe.ts', import.meta.url), {
    threads: 1,
    idle_ms: 30_000,
    queue_max: 256,
    workerData: settings,
  })
}
