import type { ConfigStore } from '../storage/config/config-store.ts'
import type { Lifecycle } from './api/lifecycle.ts'
import { Audit } from './audit.ts'
import type { Clock } from './clock.ts'
import { Revisions } from './config/revisions.ts'
import { Events } from './events.ts'
import { type JobKind, Jobs } from './jobs.ts'
import type { Log } from './log.ts'
import type { ComputePool } from './worker-pool.ts'

export interface LifecycleParts {
  readonly store: ConfigStore
  readonly stateFolder: string
  readonly compute: ComputePool
  readonly clock: Clock
  readonly log: Log
}

/** The parts that keep an appliance alive: jobs, backups, snapshots, updates, power. */
export class RunningLifecycle implements Lifecycle {
  readonly events: Events
  readonly jobs: Jobs
  readonly audit: Audit
  readonly revisions: Revisions

  constructor({ store, clock, log, stateFolder, compute }: LifecycleParts) {
    this.events = new Events(store.events, clock, log)
    this.jobs = new Jobs(store.jobs, this.events, clock, log)
    this.audit = new Audit({ store, clock, log, stateFolder, compute, events: this.events })
    this.revisions = new Revisions(store)
  }

  /** Every kind of job that an earlier run of the daemon may have left under way. */
  get #kinds(): readonly JobKind<never>[] {
    return []
  }

  /** When the machine is as running says. */
  start(): void {
    this.jobs.resume(this.#kinds)
  }

  async close(): Promise<void> {
    await this.jobs.close()
    await this.audit.close()
    await this.events.close()
  }
}
