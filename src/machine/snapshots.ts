import { setTimeout as sleep } from 'node:timers/promises'
import type { SnapshotsActor, SnapshotStatus, Started } from '../context/machine-care.ts'
import type { MachineClock } from '../base/clock.ts'
import { createArgv, mebibytes, mergeArgv, pollArgv, removeArgv, snapshotSize } from '../drivers/lvm/commands.ts'
import { SNAPSHOT_NAME } from '../drivers/lvm/parse.ts'
import { ApiError } from '../base/errors.ts'
import { excludedBy, type JobHandle, type JobKind, type Jobs } from '../jobs/jobs.ts'
import type { Log } from '../base/log.ts'
import type { PlanExecutor } from '../config/enactor.ts'
import type { MachineFacts } from '../model/machine-facts.ts'
import type { Machine } from './machine.ts'
import type { Power } from './power.ts'
import type { VolumeFacts, VolumeSnapshot } from '../model/software.ts'

/** Group of the jobs that create, restore or delete the snapshot. */
export const SNAPSHOT_GROUP = 'snapshot'
const TIMEOUT_MS = 300_000
const MERGE_LOOK_MS = 3000
const MERGE_LOOKS_MAX = 400
/** How long connections may take to end before the restart that restores a snapshot. */
const DRAIN_S = 30

export interface SnapshotsParts {
  readonly jobs: Pick<Jobs, 'start' | 'list' | 'running'>
  readonly machine: Pick<Machine, 'touchesPackages'> & {
    readonly executor: Pick<PlanExecutor, 'execute'>
    readonly facts: Pick<MachineFacts, 'volume'>
  }
  readonly clock: Pick<MachineClock, 'bootId'>
  readonly power: Pick<Power, 'begin' | 'refuseGoingDown'>
  readonly log: Log
}

interface CreateMemory {
  readonly bootId: string
}
interface RestoreMemory {
  readonly reboot: boolean
  readonly by: string
}

type Supported = Extract<VolumeFacts, { readonly isSupported: true }>

/** The single LVM snapshot of the root file system. */
export class Snapshots implements SnapshotsActor {
  readonly #parts: SnapshotsParts
  #isClosing = false

  constructor(parts: SnapshotsParts) {
    this.#parts = parts
  }

  get kinds(): readonly JobKind<never>[] {
    return [this.#create, this.#restore, this.#remove]
  }

  async status(): Promise<SnapshotStatus> {
    const { snapshot } = await this.#supported()
    const isCreating = this.#parts.jobs
      .list()
      .some(({ kind, state }) => kind === 'snapshot.create' && state === 'running')
    if (isCreating && snapshot?.state !== 'merging') return { created: '', status: 'creating', size: '', used: '' }
    return shown(snapshot)
  }

  async create(by: string): Promise<Started> {
    this.#refuse()
    await this.createArgv()
    return await this.#start(this.#create, { bootId: this.#parts.clock.bootId }, by)
  }

  async restore(reboot: boolean, by: string): Promise<Started> {
    this.#refuse()
    const { snapshot } = await this.#supported()
    if (snapshot === undefined) throw new ApiError('NOT_FOUND', 'There is no snapshot to restore')
    if (snapshot.state === 'invalid') {
      const message = 'The snapshot is invalid: it was full, and its contents are lost. Delete it'
      throw new ApiError('NOT_SUPPORTED', message)
    }
    if (snapshot.state === 'merging') throw merging()
    return await this.#start(this.#restore, { reboot, by }, by)
  }

  async remove(by: string): Promise<Started> {
    this.#refuse()
    const { snapshot } = await this.#supported()
    if (snapshot === undefined) throw new ApiError('NOT_FOUND', 'There is no snapshot to delete')
    if (snapshot.state === 'merging') throw merging()
    return await this.#start(this.#remove, {}, by)
  }

  /** Returns the program that creates a snapshot now; refuses if none can be created. */
  async createArgv(): Promise<readonly string[]> {
    this.#parts.power.refuseGoingDown()
    const { volume, snapshot, isNameTaken } = await this.#supported()
    if (snapshot?.state === 'merging') throw merging()
    if (isNameTaken) {
      const message = `The volume group ${volume.group} has another volume with the name of the snapshot, ${SNAPSHOT_NAME}; rename it with lvrename`
      throw new ApiError('NAME_NOT_UNIQUE', message)
    }
    if (snapshot !== undefined) {
      const message = `There is already a snapshot of ${snapshot.created}; delete it first`
      throw new ApiError('NAME_NOT_UNIQUE', message)
    }
    const size = snapshotSize(volume)
    if (typeof size === 'string')
      throw new ApiError('NOT_SUPPORTED', `There is too little space for a snapshot: ${size}`)
    return createArgv(volume, size)
  }

  /** Returns the program to run before a change that may have to be undone; undefined if there is no LVM. */
  async firstArgv(): Promise<readonly string[] | undefined> {
    const found = await this.#parts.machine.facts.volume()
    return found.isSupported ? ['env', 'LC_ALL=C', ...(await this.createArgv())] : undefined
  }

  /**
   * Completes a merge that began at this boot: LVM removes the snapshot once something polls for its end. The polling
   * program may end early, so it is repeated until there is nothing left to poll.
   */
  async finishMerge(): Promise<void> {
    if (!this.#parts.machine.touchesPackages) return
    try {
      for (let look = 0; look < MERGE_LOOKS_MAX; look++) {
        const found = await this.#parts.machine.facts.volume()
        if (!found.isSupported || found.snapshot?.state !== 'merging' || this.#isClosing) return
        await this.#execute(pollArgv(found.volume), 'finish the merge of the snapshot')
        await sleep(MERGE_LOOK_MS, undefined, { ref: false })
      }
    } catch (error) {
      if (!this.#isClosing)
        this.#parts.log.warn('the merge of the snapshot is not monitored', { reason: String(error) })
    }
  }

  start(): void {
    void this.finishMerge()
  }

  close(): void {
    this.#isClosing = true
  }

  get #create(): JobKind<CreateMemory> {
    const title = 'Snapshot of the root file system'
    const work = async (job: JobHandle) => {
      job.report({ step: 'create the snapshot' })
      await this.#execute(await this.createArgv(), 'create the snapshot')
      return this.#result()
    }
    // Either the snapshot was created before the daemon ended, or this is its content after a restore, which includes
    // this very job.
    const resume = async (_: JobHandle, { bootId }: CreateMemory) => {
      const { snapshot } = await this.#supported()
      if (snapshot?.state === 'merging') return { restored: true }
      if (snapshot !== undefined) return this.#result()
      if (bootId !== this.#parts.clock.bootId) return { restored: true }
      throw new ApiError('APPLY_PARTIAL', 'The daemon ended before the snapshot was created; start it again')
    }
    return { kind: 'snapshot.create', title, group: SNAPSHOT_GROUP, work, resume }
  }

  get #restore(): JobKind<RestoreMemory> {
    const work = async (job: JobHandle, { reboot, by }: RestoreMemory) => {
      const { volume, snapshot } = await this.#supported()
      job.report({ step: 'schedule the restore of the snapshot' })
      if (snapshot?.state !== 'merging') await this.#execute(mergeArgv(volume), 'restore the snapshot')
      if (reboot) this.#parts.power.begin('reboot', { drain_s: DRAIN_S, isForced: true, by })
      return this.#result({ rebootRequired: !reboot })
    }
    // Only a daemon restarted in the same boot resumes it; after a reboot, the job belongs to another time.
    return { kind: 'snapshot.restore', title: 'Restore of the snapshot', group: SNAPSHOT_GROUP, work, resume: work }
  }

  get #remove(): JobKind<object> {
    const work = async (job: JobHandle) => {
      const { volume, snapshot } = await this.#supported()
      job.report({ step: 'delete the snapshot' })
      if (snapshot !== undefined) await this.#execute(removeArgv(volume), 'delete the snapshot')
      return this.#result()
    }
    return { kind: 'snapshot.delete', title: 'Deletion of the snapshot', group: SNAPSHOT_GROUP, work, resume: work }
  }

  async #result(more: object = {}): Promise<object> {
    return this.#parts.machine.touchesPackages
      ? { ...shown((await this.#supported()).snapshot), ...more }
      : { recorded: true, ...more }
  }

  async #execute(argv: readonly string[], why: string): Promise<void> {
    const step = { kind: 'run', argv, undo: 'irreversible', outside: {}, timeout_ms: TIMEOUT_MS, why } as const
    const result = await this.#parts.machine.executor.execute([step])
    if (result.ok) return
    throw new ApiError(result.missing ? 'NOT_SUPPORTED' : 'APPLY_PARTIAL', `${why}: ${result.output}`)
  }

  async #supported(): Promise<Supported> {
    const found: VolumeFacts = await this.#parts.machine.facts.volume()
    if (found.isSupported) return found
    throw new ApiError('NOT_SUPPORTED', `There are no snapshots here: ${found.reason}`)
  }

  /** Refuses while packages are being changed: half of that would be in the snapshot, and half lost by a restore. */
  #refuse(): void {
    this.#parts.power.refuseGoingDown()
    const job = this.#parts.jobs.running('packages')
    if (job !== undefined) throw excludedBy(job, 30)
  }

  /**
   * Starts a job. Checks exclusions again, because reading the volume took a while, in which other work may have begun.
   */
  async #start<M>(kind: JobKind<M>, memory: M, by: string): Promise<Started> {
    this.#refuse()
    const job = await this.#parts.jobs.start(kind, memory, by)
    return { job, isDryRun: !this.#parts.machine.touchesPackages }
  }
}

function shown(snapshot: VolumeSnapshot | undefined): SnapshotStatus {
  if (snapshot === undefined) return { created: '', status: 'none', size: '', used: '' }
  const { created, state, size_bytes, used } = snapshot
  return { created, status: state, size: mebibytes(size_bytes), used: used === undefined ? '' : `${used}%` }
}

const merging = () =>
  new ApiError('JOB_IN_PROGRESS', 'The snapshot is being restored, which completes at the next start of the machine', {
    headers: { 'Retry-After': '60' },
  })
