import type { ConfigStore } from '../storage/config/config-store.ts'
import type { Lifecycle } from './api/lifecycle.ts'
import type { Clock } from './clock.ts'
import { Events } from './events.ts'
import { type JobKind, Jobs } from './jobs.ts'
import type { Log } from './log.ts'

export interface LifecycleParts {
  readonly store: ConfigStore
  readonly clock: Clock
  readonly log: Log
}

/** The parts that keep an appliance alive: jobs, backups, snapshots, updates, power. */
export class RunningLifecycle implements Lifecycle {
  readonly events: Events
  readonly jobs: Jobs

  constructor({ store, clock, log }: LifecycleParts) {
    this.events = new Events(store.events, clock, log)
    this.jobs = new Jobs(store.jobs, this.events, clock, log)
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
    await this.events.close()
  }
}
