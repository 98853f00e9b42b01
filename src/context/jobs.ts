import type { Actor } from './actor.ts'
import type { Job } from '../model/job.ts'

export interface JobsReader {
  /** Newest first. */
  list(): readonly Job[]
  /** Refuses with NOT_FOUND. */
  get(id: string): Job
}

export interface JobsActor extends JobsReader {
  /**
   * Asks a job to end; refuses with NOT_FOUND, or with NOT_SUPPORTED if it cannot, or can no longer, be ended safely.
   */
  cancel(id: string): void
}

/** A job that starts only once the edits of its request are written. */
export interface PreparedJob {
  readonly job: string
  readonly start: () => Promise<void>
}

export interface Drains {
  /**
   * Prepares the job that waits until a drained real server has no connections. Refuses with JOB_IN_PROGRESS while one
   * runs for this real server.
   */
  prepare(
    drain: { readonly ripId: string; readonly wait_s: number; readonly halt: boolean },
    author: Actor,
  ): PreparedJob
}
