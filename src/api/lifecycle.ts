import type { Job } from '../model/job.ts'

/** What handlers see of the parts that keep an appliance alive. Readers first; what acts extends them. */

export interface JobsReader {
  /** Newest first. */
  list(): readonly Job[]
  /** Refuses with NOT_FOUND. */
  get(id: string): Job
}
export interface JobsActor extends JobsReader {
  /** Asks a job to end; refuses with NOT_FOUND, or NOT_SUPPORTED when it cannot be ended safely (any more). */
  cancel(id: string): void
}

export interface LifecycleReading {
  readonly jobs: JobsReader
}
export interface Lifecycle extends LifecycleReading {
  readonly jobs: JobsActor
}
