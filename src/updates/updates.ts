import type { ForcedStatus, SoftwareStatus, Started, UpdatesActor, UploadedPackage } from '../api/machine-lifecycle.ts'
import { applyFailed } from '../config/apply-refusals.ts'
import { changedPackages } from '../drivers/apt/parse.ts'
import { ApiError } from '../errors.ts'
import { newId } from '../ids.ts'
import type { JobHandle, JobKind, Jobs } from '../jobs.ts'
import type { MachineFacts } from '../model/machine-facts.ts'
import type { PackageFacts } from '../model/software.ts'
import type { DetachedPlan } from '../../workers/detached/plan.ts'
import { SNAPSHOT_GROUP } from '../snapshots/snapshots.ts'
import { AFTER, BEFORE, majorSteps, packageSteps, refresh, REPAIR, upgradeSteps } from './apt-commands.ts'
import type { DetachedWork } from './detached-work.ts'
import { majorVersions, type MajorVersion } from './major-versions.ts'
import { refuseGround } from './preflight.ts'
import { uploadedFiles } from './uploads.ts'

/** Jobs that use the package manager. */
export const PACKAGES_GROUP = 'packages'

export interface UpdatesParts {
  readonly jobs: Pick<Jobs, 'start' | 'running' | 'list'>
  readonly work: DetachedWork
  readonly facts: Pick<MachineFacts, 'packages' | 'packagesStamp' | 'updateGround' | 'restartRequired'>
  readonly keep: (text: string) => Promise<UploadedPackage | { readonly problem: string }>
  readonly nodeId: string
  readonly stateFolder: string
  readonly version: string
  readonly majorVersionsFile: string
  /** false: nothing of this machine is changed; what would be done is only said. */
  readonly touchesPackages: boolean
  /** Refuses while the configuration is being applied, or waits for its confirmation. */
  readonly refuseWhileApplying: () => void
  /** Refuses when nothing is to be changed here at all. */
  readonly refuseObserver: () => void
  /** The program that makes a snapshot first; undefined where there is no LVM. Refuses when none can be made. */
  readonly snapshotFirst: () => Promise<readonly string[] | undefined>
}

interface UpdateMemory {
  readonly files: readonly string[]
}
interface PackageMemory {
  readonly name: string
}
interface MajorMemory {
  readonly version: MajorVersion
  readonly files: readonly string[]
  readonly snapshot: readonly string[] | null
}

/** Packages of this machine: what is pending, and bringing it in. */
export class Updates implements UpdatesActor {
  readonly #parts: UpdatesParts
  #known: { readonly stamp: string; readonly facts: PackageFacts } | undefined
  #refreshing: Promise<string | undefined> | undefined
  readonly #waiting = new Map<string, (end: Promise<unknown>) => void>()

  constructor(parts: UpdatesParts) {
    this.#parts = parts
  }

  get kinds(): readonly JobKind<never>[] {
    return [this.#update, this.#package, this.#major]
  }

  async status(): Promise<SoftwareStatus> {
    const [{ pending, problem }, restartRequired] = await Promise.all([
      this.#packages(),
      this.#parts.facts.restartRequired(),
    ])
    const majorVersion = this.#offered().map(({ suites: _suites, ...version }) => version)
    return { restartRequired, majorVersion, details: pending, problem }
  }

  /** Asks the repositories first; what cannot be asked is said, with what was known before. */
  async forced(): Promise<ForcedStatus> {
    const isDryRun = !this.#parts.touchesPackages
    const failure = isDryRun ? undefined : await this.#refresh()
    return { ...(await this.status()), problem: failure ?? (await this.#packages()).problem, isDryRun }
  }

  async upload(text: string): Promise<UploadedPackage> {
    this.#parts.refuseObserver()
    const kept = await this.#parts.keep(text)
    if (!('problem' in kept)) return kept
    throw invalid('packages', kept.problem)
  }

  async start(by: string): Promise<Started> {
    await this.#refuse()
    const files = uploadedFiles(this.#parts.stateFolder)
    return this.#started(await this.#parts.jobs.start(this.#update, { files }, by))
  }

  async startMajor(versionNumber: string, by: string): Promise<Started> {
    this.#parts.refuseObserver()
    const offered = this.#offered()
    const version = offered.find((one) => one.versionNumber === versionNumber)
    if (version === undefined) {
      const known = offered.map((one) => one.versionNumber).join(', ') || 'none'
      throw invalid('versionNumber', `is no major version that is offered; there are: ${known}`)
    }
    const busy = this.#parts.jobs.list().find(({ state }) => state === 'running')
    if (busy !== undefined) throw inProgress(`The job ${busy.id} (${busy.title}) is still running; wait for its end`)
    const ground = await this.#refuse(version.osUpdate)
    const files = ground.sources
      .filter(({ suites }) => version.suites.some(({ from }) => suites.includes(from)))
      .map(({ file }) => file)
    if (files.length === 0 && version.suites.length > 0) {
      const names = version.suites.map(({ from }) => from).join(', ')
      throw new ApiError('NOT_SUPPORTED', `No package source of this machine has a suite ${names}`)
    }
    const snapshot = this.#parts.touchesPackages ? await this.#parts.snapshotFirst() : undefined
    const memory = { version, files, snapshot: snapshot ?? null }
    return this.#started(await this.#parts.jobs.start(this.#major, memory, by))
  }

  /** Resolves when the package was updated. */
  async updatePackage(name: string, by: string): Promise<{ readonly isDryRun: boolean }> {
    await this.#refuse()
    let ended: Promise<unknown> = Promise.resolve()
    const began = new Promise<void>((resolve) => {
      this.#waiting.set(name, (end) => {
        ended = end
        resolve()
      })
    })
    try {
      await this.#parts.jobs.start(this.#package, { name }, by)
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
    return { isDryRun: !this.#parts.touchesPackages }
  }

  get #update(): JobKind<UpdateMemory> {
    const work = (job: JobHandle, { files }: UpdateMemory) =>
      this.#install(job, { steps: upgradeSteps(files), repair: REPAIR })
    return { kind: 'update', title: 'Software update', group: PACKAGES_GROUP, work, resume: work }
  }

  get #package(): JobKind<PackageMemory> {
    const resume = (job: JobHandle, { name }: PackageMemory) =>
      this.#install(job, { steps: packageSteps(name), repair: REPAIR })
    const work = (job: JobHandle, memory: PackageMemory) => {
      const end = resume(job, memory)
      this.#waiting.get(memory.name)?.(end)
      return end
    }
    return { kind: 'update.package', title: 'Update of a service', group: PACKAGES_GROUP, work, resume }
  }

  get #major(): JobKind<MajorMemory> {
    const work = (job: JobHandle, { version, files, snapshot }: MajorMemory) => {
      const folder = this.#parts.work.folderOf(job.id)
      const steps = majorSteps({ folder, files, suites: version.suites, snapshot: snapshot ?? undefined })
      return this.#install(job, { steps, repair: REPAIR })
    }
    return { kind: 'update.major', title: 'Change to another major version', group: PACKAGES_GROUP, work, resume: work }
  }

  async #install(job: JobHandle, plan: DetachedPlan): Promise<unknown> {
    const { work, touchesPackages, facts } = this.#parts
    if (!touchesPackages) return { recorded: plan.steps.map(({ why }) => why) }
    await work.run(job, plan)
    const packages = changedPackages(await work.output(job.id, BEFORE), await work.output(job.id, AFTER))
    return { packages, restartRequired: await facts.restartRequired() }
  }

  /** Answers why it failed. Those who ask at the same time share one. */
  #refresh(): Promise<string | undefined> {
    return (this.#refreshing ??= this.#refreshNow().finally(() => (this.#refreshing = undefined)))
  }

  async #refreshNow(): Promise<string | undefined> {
    const { jobs, work } = this.#parts
    if (jobs.running(PACKAGES_GROUP) !== undefined) return 'the repositories are not asked while an update is running'
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
    const { facts } = this.#parts
    const stamp = await facts.packagesStamp()
    if (this.#known?.stamp === stamp) return this.#known.facts
    const found = await facts.packages()
    if (found === undefined) throw new ApiError('NOT_SUPPORTED', 'This machine has no apt: its packages are not known')
    this.#known = { stamp, facts: found }
    return found
  }

  #offered(): readonly MajorVersion[] {
    return majorVersions(this.#parts.majorVersionsFile, this.#parts.version)
  }

  async #refuse(isRelease = false) {
    const { refuseObserver, refuseWhileApplying, facts, jobs, touchesPackages } = this.#parts
    refuseObserver()
    refuseWhileApplying()
    const running = jobs.running(PACKAGES_GROUP) ?? jobs.running(SNAPSHOT_GROUP)
    if (running !== undefined) {
      throw inProgress(`The job ${running.id} (${running.title}) is still running; wait for its end`)
    }
    const ground = await facts.updateGround()
    if (touchesPackages) refuseGround(ground, isRelease)
    return ground
  }

  #started(job: string): Started {
    return { job, isDryRun: !this.#parts.touchesPackages }
  }
}

/** The lines in which apt names what it could not fetch. */
function repositoryProblem(message: string): string {
  const first = message.split('\n').find((line) => /^[EW]: /.test(line)) ?? message
  return first.replace(/^[EW]: /, '').slice(0, 300)
}

const inProgress = (message: string) => new ApiError('APPLY_IN_PROGRESS', message, { headers: { 'Retry-After': '10' } })

const invalid = (field: string, message: string) =>
  new ApiError('INVALID_BODY', `${field} ${message}`, { errors: [{ field, code: 'INVALID_BODY', message }] })
