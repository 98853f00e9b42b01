import type { ConfigStore } from '../storage/config/config-store.ts'
import type { Lifecycle } from './api/lifecycle.ts'
import { Audit } from './audit.ts'
import { AutomaticBackups } from './backup/automatic.ts'
import { Backups } from './backup/backups.ts'
import { type Restored, restoreCheck } from './backup/restore-check.ts'
import type { MachineClock } from './clock.ts'
import type { Editing } from './config/editing.ts'
import { Revisions } from './config/revisions.ts'
import { configView } from './config/views.ts'
import { type Drain, drainKind, type DrainParts } from './drain.ts'
import { Events } from './events.ts'
import { type JobKind, Jobs } from './jobs.ts'
import type { Log } from './log.ts'
import { MachineCare, type MachineCareParts } from './machine-care.ts'
import type { MachineFacts } from './model/machine-facts.ts'
import { leavesRoom } from './spare-room.ts'
import { VERSION } from './version.ts'
import type { ComputePool } from './worker-pool.ts'

export interface LifecycleParts {
  readonly store: ConfigStore
  /** Made later than this. */
  readonly engine: () => {
    readonly busy: boolean
    readonly isApplying: boolean
    validate(): Promise<void>
  } & ReturnType<DrainParts['engine']>
  /** Open connections of a real server; undefined while nobody can tell. */
  readonly connections: DrainParts['connections']
  readonly editing: Editing
  /** Refuses what somebody asked for earlier and may not do any more. */
  readonly assertStill: DrainParts['assertStill']
  readonly facts: MachineFacts
  readonly machine: MachineCareParts['machine']
  /** Refuses when nothing of this machine is to be changed. */
  readonly refuseObserver: () => void
  readonly nodeId: string
  readonly stateFolder: string
  /** See `Settings`. */
  readonly auditDays: number
  readonly compute: ComputePool
  readonly clock: MachineClock
  readonly log: Log
}

/** The parts that keep an appliance alive: jobs, backups, snapshots, updates, power. */
export class RunningLifecycle implements Lifecycle {
  readonly events: Events
  readonly jobs: Jobs
  readonly audit: Audit
  readonly revisions: Revisions
  readonly backups: Backups
  readonly automatic: AutomaticBackups
  readonly updates: MachineCare['updates']
  readonly snapshots: MachineCare['snapshots']
  readonly power: MachineCare['power']
  readonly #care: MachineCare
  readonly #restoreCheck: JobKind<Restored>
  readonly #drain: JobKind<Drain>

  constructor(parts: LifecycleParts) {
    const { store, clock, log, stateFolder, compute, auditDays: days } = parts
    this.events = new Events(store.events, clock, log)
    this.jobs = new Jobs(store.jobs, this.events, clock, log)
    this.audit = new Audit({ store, clock, log, stateFolder, compute, days, events: this.events })
    this.revisions = new Revisions(store)
    const running = configView(store.running)
    const candidate = configView(store.candidate)
    this.backups = new Backups({ ...parts, running, candidate, leavesRoom, version: VERSION })
    this.automatic = new AutomaticBackups({ backups: this.backups, running, clock, log })
    this.#restoreCheck = restoreCheck(parts)
    this.#drain = drainKind({ ...parts, running, candidate })
    this.#care = new MachineCare({ ...parts, jobs: this.jobs, events: this.events, running })
    const { updates, snapshots, power } = this.#care
    this.updates = updates
    this.snapshots = snapshots
    this.power = power
  }

  /** Checks the candidate when it holds what is being restored. Answers the job. */
  checkRestored(restored: Restored, by: string): Promise<string> {
    return this.jobs.start(this.#restoreCheck, restored, by)
  }

  /** One at a time for each real server. Answers the job. */
  finishDrain(drain: Drain): Promise<string> {
    return this.jobs.start(this.#drain, drain, drain.by, `drain ${drain.ripId}`)
  }

  /** Every kind of job that an earlier run of the daemon may have left under way. */
  get #kinds(): readonly JobKind<never>[] {
    return [this.#restoreCheck, this.#drain, ...this.#care.kinds]
  }

  /** When the machine is as running says. */
  start(): void {
    this.jobs.resume(this.#kinds)
    this.#care.start()
    this.automatic.start()
  }

  async close(): Promise<void> {
    this.#care.close()
    await this.automatic.close()
    await this.jobs.close()
    await this.audit.close()
    await this.events.close()
  }
}
