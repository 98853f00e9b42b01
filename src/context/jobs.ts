import type { Actor } from './actor.ts'
import type { Job } from '../model/job.ts'

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

export interface Drains {
  /**
   * Starts the job that waits until a drained real server has no connections; one at a time for each real server.
   * Answers its id.
   */
  start(
    drain: { readonly ripId: string; readonly wait_s: number; readonly halt: boolean },
    author: Actor,
  ): Promise<string>
}
