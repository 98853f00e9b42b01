import { join } from 'node:path'
import type { ConfigStore } from '../../../storage/config/config-store.ts'
import type {
  ForcedStatus,
  SoftwareStatus,
  Started,
  UpdatesActor,
  UploadedPackage,
} from '../../context/machine-care.ts'
import { applyFailed } from '../../config/apply-refusals.ts'
import { type ChangedPackage, changedPackages } from '../../drivers/apt/parse.ts'
import { ApiError } from '../../base/errors.ts'
import { newId } from '../../base/ids.ts'
import { excludedBy, type JobHandle, type JobKind, type Jobs } from '../../jobs/jobs.ts'
import type { Log } from '../../base/log.ts'
import { VERSION } from '../../base/version.ts'
import type { PackageFacts } from '../../model/software.ts'
import type { DetachedPlan } from '../../../workers/detached/plan.ts'
import { PROGRAMS } from '../../drivers/programs.ts'
import { egressProxyPaths } from '../../drivers/egress-proxy/driver.ts'
import type { Machine } from '../machine.ts'
import type { Departing, Power } from '../power.ts'
import { SNAPSHOT_GROUP, type Snapshots } from '../snapshots.ts'
import { AFTER, BEFORE, majorSteps, packageSteps, refresh, REPAIR, upgradeSteps } from './apt-commands.ts'
import { DetachedWork } from './detached-work.ts'
import type { NodeUpdate, NodeUpdateTold } from './node-update.ts'
import { MAJOR_VERSIONS_FILE, majorVersions, type MajorVersion } from './major-versions.ts'
import { refuseGround } from './preflight.ts'
import { uploadedFiles } from './uploads.ts'

/** The package of this daemon. */
export const OWN_PACKAGE = 'fulcrum'
/** Group of the jobs that use the package manager. */
export const PACKAGES_GROUP = 'packages'
const RESTART_TIMEOUT_MS = 60_000

export interface UpdatesParts {
  readonly jobs: Pick<Jobs, 'start' | 'running' | 'list' | 'find'>
  readonly machine: Pick<Machine, 'executor' | 'facts' | 'keepPackage' | 'touchesPackages'>
  readonly power: Pick<Power, 'refuseGoingDown'>
  readonly departure: Departing
  /** How far this node follows its cluster. */
  readonly standing: () => Pick<NodeUpdateTold, 'sequence' | 'halted'>
  readonly snapshots: Pick<Snapshots, 'firstArgv'>
  readonly engine: { readonly busy: boolean }
  readonly store: Pick<ConfigStore, 'unconfirmed'>
  readonly nodeId: string
  readonly stateFolder: string
  readonly log: Pick<Log, 'warn'>
}

/** Whether the user forced it although the other nodes could not go on; absent in jobs of earlier versions. */
interface Forceable {
  readonly isForced?: boolean
}
interface UpdateMemory extends Forceable {
  readonly files: readonly string[]
}
interface PackageMemory extends Forceable {
  readonly name: string
}
interface MajorMemory extends Forceable {
  readonly version: MajorVersion
  readonly files: readonly string[]
  readonly snapshot: readonly string[] | null
}

/** Packages of this machine: pending updates, and installing them. */
export class Updates implements UpdatesActor {
  readonly #parts: UpdatesParts
  readonly #work: DetachedWork
  #known: { readonly stamp: string; readonly facts: PackageFacts } | undefined
  #refreshing: Promise<string | undefined> | undefined
  readonly #waiting = new Map<string, (end: Promise<unknown>) => void>()
  /** Number of uploads in progress. */
  #uploads = 0

  constructor(parts: UpdatesParts) {
    const { machine, stateFolder } = parts
    this.#parts = parts
    const environmentFile = egressProxyPaths(stateFolder).environment
    this.#work = new DetachedWork({ executor: machine.executor, stateFolder, environmentFile })
  }

  /** Removes the folders of jobs that are forgotten. */
  tidy(): void {
    const { jobs, log } = this.#parts
    const ids = new Set(jobs.list().map(({ id }) => id))
    this.#work
      .tidy((id) => ids.has(id))
      .catch((error: unknown) => log.warn('folders of ended jobs could not be removed', { reason: String(error) }))
  }

  /** The next daemon resumes what continues without this one. */
  close(): void {
    this.#work.close()
  }

  get kinds(): readonly JobKind<never>[] {
    return [this.#update, this.#package, this.#major]
  }

  async status(): Promise<SoftwareStatus> {
    const [{ pending, problem }, restartRequired] = await Promise.all([
      this.#packages(),
      this.#parts.machine.facts.restartRequired(),
    ])
    const majorVersion = this.#offered().map(({ suites: _suites, ...version }) => version)
    return { restartRequired, majorVersion, details: pending, problem }
  }

  /** Queries the repositories first; a failure to do so is reported along with the earlier state. */
  async forced(): Promise<ForcedStatus> {
    const isDryRun = !this.#parts.machine.touchesPackages
    const failure = isDryRun ? undefined : await this.#refresh()
    return { ...(await this.status()), problem: failure ?? (await this.#packages()).problem, isDryRun }
  }

  async upload(text: string): Promise<UploadedPackage> {
    this.#parts.power.refuseGoingDown()
    // An upload could remove, or be removed with, the file that is being installed.
    const busy = this.#parts.jobs.running(PACKAGES_GROUP)
    if (busy !== undefined) throw excludedBy(busy, 10)
    this.#uploads += 1
    const kept = await this.#parts.machine.keepPackage(text).finally(() => (this.#uploads -= 1))
    if (!('problem' in kept)) return kept
    throw invalid('packages', kept.problem)
  }

  async start(isForced: boolean, by: string): Promise<Started> {
    await this.#refuse({ isForced })
    this.#refuseWhileUploading()
    const files = uploadedFiles(this.#parts.stateFolder)
    return this.#started(await this.#parts.jobs.start(this.#update, { files, isForced }, by))
  }

  async startMajor(versionNumber: string, isForced: boolean, by: string): Promise<Started> {
    this.#parts.power.refuseGoingDown()
    const offered = this.#offered()
    const version = offered.find((one) => one.versionNumber === versionNumber)
    if (version === undefined) {
      const known = offered.map((one) => one.versionNumber).join(', ') || 'none'
      throw invalid('versionNumber', `is not an available major version; available are: ${known}`)
    }
    this.#refuseAnyWork()
    const ground = await this.#refuse({ isRelease: version.osUpdate, isForced })
    const files = ground.sources
      .filter(({ suites }) => version.suites.some(({ from }) => suites.includes(from)))
      .map(({ file }) => file)
    if (files.length === 0 && version.suites.length > 0) {
      const names = version.suites.map(({ from }) => from).join(', ')
      throw new ApiError('NOT_SUPPORTED', `No package source of this machine has a suite ${names}`)
    }
    const snapshot = this.#parts.machine.touchesPackages ? await this.#parts.snapshots.firstArgv() : undefined
    // The check took seconds, in which other work may have begun.
    this.#refuseAnyWork()
    const memory = { version, files, snapshot: snapshot ?? null, isForced }
    const about = { title: `Change to major version ${versionNumber}` }
    return this.#started(await this.#parts.jobs.start(this.#major, memory, by, about))
  }

  /** Starts the update as a job, for updates that end this daemon. */
  async startPackage(name: string, isForced: boolean, by: string, id?: string): Promise<Started> {
    await this.#refuse({ isForced })
    const about = { title: `Update of package ${name}`, ...(id === undefined ? {} : { id }) }
    return this.#started(await this.#parts.jobs.start(this.#package, { name, isForced }, by, about))
  }

  /** Begins this node's part of a rolling update unless it has begun, and returns its state. */
  async shareOf({ jobId, name, by }: NodeUpdate): Promise<NodeUpdateTold> {
    const common = { step: '', version: VERSION, isOwn: name === OWN_PACKAGE, ...this.#parts.standing() }
    try {
      if (this.#parts.jobs.find(jobId) === undefined) await this.startPackage(name, false, by, jobId)
    } catch (error) {
      if (error instanceof ApiError) return { ...common, refused: error.message }
      throw error
    }
    const job = this.#parts.jobs.find(jobId)
    if (job === undefined) return common
    const { state, step, problem, result } = job
    const changed = changedIn(result).find((one) => one.name === name)
    const why = problem === null ? {} : { problem: problem.message }
    return { ...common, state, step, ...why, ...(changed === undefined ? {} : { changed }) }
  }

  /** Resolves when the package is updated. */
  async updatePackage(name: string, isForced: boolean, by: string): Promise<{ readonly isDryRun: boolean }> {
    await this.#refuse({ isForced })
    let ended: Promise<unknown> = Promise.resolve()
    const began = new Promise<void>((resolve) => {
      this.#waiting.set(name, (end) => {
        ended = end
        resolve()
      })
    })
    try {
      await this.#parts.jobs.start(this.#package, { name, isForced }, by, { title: `Update of package ${name}` })
      await began
    } finally {
      this.#waiting.delete(name)
    }
    try {
      await ended
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const { nodeId } = this.#parts
      throw applyFailed({ why: `package ${name}`, output: error.message, nodeId, title: 'The update failed' })
    }
    return { isDryRun: !this.#parts.machine.touchesPackages }
  }

  get #update(): JobKind<UpdateMemory> {
    const work = (job: JobHandle, { files, isForced }: UpdateMemory) =>
      this.#install(job, { steps: upgradeSteps(files), repair: REPAIR }, isForced)
    return { kind: 'update', title: 'Software update', group: PACKAGES_GROUP, work, resume: work }
  }

  get #package(): JobKind<PackageMemory> {
    const resume = (job: JobHandle, { name, isForced }: PackageMemory) =>
      this.#install(job, { steps: packageSteps(name), repair: REPAIR }, isForced)
    const work = (job: JobHandle, memory: PackageMemory) => {
      const end = resume(job, memory)
      this.#waiting.get(memory.name)?.(end)
      return end
    }
    return { kind: 'update.package', title: 'Update of a service', group: PACKAGES_GROUP, work, resume }
  }

  get #major(): JobKind<MajorMemory> {
    const work = (job: JobHandle, { version, files, snapshot, isForced }: MajorMemory) => {
      const folder = this.#work.folderOf(job.id)
      const steps = majorSteps({ folder, files, suites: version.suites, snapshot: snapshot ?? undefined })
      return this.#install(job, { steps, repair: REPAIR }, isForced)
    }
    return { kind: 'update.major', title: 'Change to another major version', group: PACKAGES_GROUP, work, resume: work }
  }

  async #install(job: JobHandle, plan: DetachedPlan, isForced = false): Promise<unknown> {
    const { machine, departure } = this.#parts
    const { touchesPackages, facts } = machine
    if (!touchesPackages) return { recorded: plan.steps.map(({ why }) => why) }
    if (!this.#work.isBegun(job.id)) {
      job.report({ step: 'handing floating IPs and votes over to other nodes' })
      await departure.begin('update', isForced)
    }
    await this.#work.run(job, plan)
    const packages = changedPackages(await this.#work.output(job.id, BEFORE), await this.#work.output(job.id, AFTER))
    await this.#restart(packages)
    return { packages, restartRequired: await facts.restartRequired() }
  }

  /**
   * Restarts Fulcrum's own units after an update: Debian restarts only its own units, which run the same programs. No
   * cluster depends on this node now, so nobody notices; stopped units stay stopped.
   */
  async #restart(packages: readonly ChangedPackage[]): Promise<void> {
    const { machine, log } = this.#parts
    for (const { package: name, unit, fullName } of [PROGRAMS.etcd, PROGRAMS.clusterha]) {
      if (packages.every((changed) => changed.name !== name)) continue
      const step = { kind: 'run', argv: ['systemctl', 'try-restart', unit], undo: 'irreversible' } as const
      const why = `restart ${fullName}, because its package has changed`
      const result = await machine.executor.execute([{ ...step, why, timeout_ms: RESTART_TIMEOUT_MS }])
      if (!result.ok) log.warn(why, { reason: result.output })
    }
  }

  /**
   * Refreshes the package lists and resolves with the reason if that failed. Simultaneous callers share one refresh.
   */
  #refresh(): Promise<string | undefined> {
    return (this.#refreshing ??= this.#refreshNow().finally(() => (this.#refreshing = undefined)))
  }

  async #refreshNow(): Promise<string | undefined> {
    const work = this.#work
    if (this.#parts.jobs.running(PACKAGES_GROUP) !== undefined)
      return 'the repositories cannot be contacted while an update is running'
    const id = `refresh-${newId()}`
    try {
      await work.run({ id, report: () => undefined }, { steps: [refresh()], repair: [] })
      return undefined
    } catch (error) {
      if (error instanceof ApiError) return repositoryProblem(error.message)
      throw error
    } finally {
      await work.tidy((other) => other !== id)
    }
  }

  async #packages(): Promise<PackageFacts> {
    const { facts } = this.#parts.machine
    const stamp = await facts.packagesStamp()
    if (this.#known?.stamp === stamp) return this.#known.facts
    const found = await facts.packages()
    if (found === undefined) throw new ApiError('NOT_SUPPORTED', 'This machine has no apt: its packages are unknown')
    this.#known = { stamp, facts: found }
    return found
  }

  #offered(): readonly MajorVersion[] {
    const { machine, stateFolder } = this.#parts
    const file = machine.touchesPackages ? MAJOR_VERSIONS_FILE : join(stateFolder, 'major-versions.json')
    return majorVersions(file, VERSION)
  }

  async #refuse({ isRelease = false, isForced = false } = {}) {
    const { departure } = this.#parts
    const { facts, touchesPackages } = this.#parts.machine
    this.#refuseBusy()
    const ground = await facts.updateGround()
    if (touchesPackages) refuseGround(ground, isRelease)
    if (touchesPackages) await departure.refuse(isForced)
    // The check took seconds, in which other work may have begun.
    this.#refuseBusy()
    return ground
  }

  #refuseBusy(): void {
    const { power, jobs } = this.#parts
    power.refuseGoingDown()
    this.#refuseWhileApplying()
    const running = jobs.running(PACKAGES_GROUP) ?? jobs.running(SNAPSHOT_GROUP)
    if (running !== undefined) throw excludedBy(running, 10)
  }

  /** An upgrade to another release waits for all other work. */
  #refuseAnyWork(): void {
    this.#refuseBusy()
    this.#refuseWhileUploading()
    const busy = this.#parts.jobs.list().find(({ state }) => state === 'running')
    if (busy !== undefined) throw excludedBy(busy, 10)
  }

  #refuseWhileUploading(): void {
    if (this.#uploads === 0) return
    const message = 'A package is being uploaded; try again when the upload is complete'
    throw new ApiError('JOB_IN_PROGRESS', message, { headers: { 'Retry-After': '5' } })
  }

  /** Packages wait while the configuration is being applied, or an apply waits for its confirmation. */
  #refuseWhileApplying(): void {
    const { engine, store } = this.#parts
    const unconfirmed = store.unconfirmed()
    if (!engine.busy && unconfirmed === undefined) return
    const message =
      unconfirmed === undefined
        ? 'The configuration is being applied; try again in a moment'
        : `Revision ${unconfirmed.revision} waits for confirmation until ${unconfirmed.confirmBy}`
    throw new ApiError('APPLY_IN_PROGRESS', message, { headers: { 'Retry-After': '5' } })
  }

  #started(job: string): Started {
    return { job, isDryRun: !this.#parts.machine.touchesPackages }
  }
}

/** Returns the changed packages of a job; the results of a trial have another form. */
function changedIn(result: unknown): readonly ChangedPackage[] {
  const packages: unknown = Reflect.get(Object(result), 'packages')
  // Sound: written by `#install` only.
  return Array.isArray(packages) ? (packages as readonly ChangedPackage[]) : []
}

/** Returns the lines in which apt names what it could not fetch. */
function repositoryProblem(message: string): string {
  const first = message.split('\n').find((line) => /^[EW]: /.test(line)) ?? message
  return first.replace(/^[EW]: /, '').slice(0, 300)
}

const invalid = (field: string, message: string) =>
  new ApiError('INVALID_BODY', `${field} ${message}`, { errors: [{ field, code: 'INVALID_BODY', message }] })
