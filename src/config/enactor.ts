import type { ConfigStore, Journal, RecordChangeValue, RevisionHeader } from '../../storage/config/config-store.ts'
import type { Driver, PlanOptions, PlanResult, Step } from '../drivers/driver.ts'
import type { Problem } from '../model/problem.ts'
import type { ApiError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { ConfigView } from '../model/sections.ts'
import type { NodeOutcome } from '../context/applying.ts'
import { applyFailed, planRefusal, type PlanFailure, titleOf } from './apply-refusals.ts'
import { backTo, orderPlan, type Plan } from './plan.ts'
import { prepare } from './turns.ts'
import { attemptedView, configView, frozenView } from './views.ts'
import { newId } from '../base/ids.ts'
import { reasonOf } from '../base/reason.ts'

/** The only door to the machine: the system worker in the daemon, a recording host in tests. */
export interface PlanExecutor {
  execute(steps: readonly Step[]): Promise<PlanResult>
  /** Runs only the check steps and leaves no file behind. */
  check(steps: readonly Step[]): Promise<PlanResult>
}

/** A part of the daemon that follows the configuration, such as the listener of the API. */
export interface OwnPart {
  /** Returns the problems that this part sees in the desired configuration. Changes nothing. */
  verify(running: ConfigView, desired: ConfigView): Promise<readonly Problem[]>
  /**
   * Enacts the desired configuration beside the present one; undefined if there is nothing to do. Throws if that is
   * impossible, and then nothing has changed.
   */
  enact(running: ConfigView, desired: ConfigView): Promise<{ keep(): void; takeBack(): void } | undefined>
}

export interface EnactorParts {
  readonly store: ConfigStore
  readonly drivers: readonly Driver[]
  readonly executor: PlanExecutor
  readonly own: readonly OwnPart[]
  readonly nodeId: string
  readonly log: Log
}

/** What took effect; the caller keeps it or takes it back. */
export interface Enacted {
  /** Whether some of it was only recorded, because the profile does not touch the machine. */
  readonly isDryRun: boolean
  readonly warnings: readonly string[]
  /** Absent if this node is the only one. */
  readonly nodes?: readonly NodeOutcome[]
  keep(): void
  takeBack(why: string, output: string): Promise<ApiError>
}

/** Returns whether the step can fall back on a reload. */
const isRuntime = (step: Step | undefined): boolean => step?.kind === 'run' && step.isRuntime === true

/**
 * Makes plans of all drivers and carries them out, with a journal, so that a crash never leaves the machine between two
 * configurations.
 */
export class Enactor {
  readonly #parts: EnactorParts

  constructor(parts: EnactorParts) {
    this.#parts = parts
  }

  plan(running: ConfigView | undefined, desired: ConfigView, options: PlanOptions): Plan {
    return orderPlan(
      this.#parts.drivers.flatMap((owner) => owner.plan(running, desired, options).map((step) => ({ step, owner }))),
    )
  }

  async enact(
    running: ConfigView,
    desired: ConfigView,
    options: PlanOptions,
    header: RevisionHeader,
    attempted: readonly RecordChangeValue[],
  ): Promise<Enacted> {
    const { store, executor, log } = this.#parts
    let plan = this.plan(running, desired, options)
    if (plan.steps.length === 0)
      return this.#withOwn(running, desired, { recorded: 0, warnings: [] }, new Set(), header)
    const touched = new Set(plan.owners)
    await store.openJournal(this.#journal(header, plan.steps, touched, attempted))
    let result = await executor.execute(plan.steps)
    if (!result.ok && (result.kind === 'socket' || isRuntime(plan.steps[result.failedStep]))) {
      log.info('a runtime command was refused; reloading instead', { why: result.why, output: result.output })
      const wasUndone = result.undone
      plan = this.plan(running, desired, { ...options, atLeast: 'reload' })
      result = await executor.execute(plan.steps)
      // Runtime commands that could not be taken back leave a doubt, even if the reload was taken back cleanly.
      if (!result.ok) result = { ...result, undone: result.undone && wasUndone }
    }
    if (result.ok) return this.#withOwn(running, desired, result, touched, header)
    const undone = result.undone || (await this.#restore(desired, running, touched, header))
    if (result.undone) await store.closeJournal(header.applyId)
    throw this.#refusal({ ...result, undone }, plan, desired)
  }

  /**
   * Asks the programs whether they would accept the configuration; throws what an apply would throw. Changes nothing:
   * files that could not be put back are in doubt as after an apply, and that is tried again.
   */
  async check(desired: ConfigView, options: PlanOptions): Promise<void> {
    const { executor, store, log } = this.#parts
    const plan = this.plan(configView(store.running), desired, options)
    const result = await executor.check(plan.steps)
    if (result.ok) return
    if (!result.undone) {
      const { why, output } = result
      log.error('a check could not restore the files that it wrote; this is retried', { why, output })
      const header = { applyId: newId(), revision: store.revision, by: 'fulcrum', at: new Date().toISOString() }
      await store.openJournal(this.#journal({ ...header, comment: why }, plan.steps, new Set(plan.owners), []))
    }
    const title = result.undone ? 'The check could not run' : 'A check could not be undone; this is retried'
    throw this.#refusal(result, plan, desired, title)
  }

  /**
   * Records in the journal, before anything is done, which parts of the machine (which has `attempted` now) must become
   * `desired`. The function it resolves with moves the daemon's own parts.
   */
  async openReturn(
    desired: ConfigView,
    header: RevisionHeader,
    attempted: readonly RecordChangeValue[],
  ): Promise<() => Promise<void>> {
    const { store, own, log } = this.#parts
    const machine = attemptedView(store.running, attempted)
    const { steps, owners } = this.plan(machine, desired, { atLeast: 'runtime', isReturn: true })
    if (steps.length > 0) await store.openJournal(this.#journal(header, steps, new Set(owners), attempted))
    return async () => {
      for (const part of own) {
        try {
          const change = await part.enact(attemptedView(store.running, attempted), desired)
          change?.keep()
        } catch (error) {
          log.error('a part of the daemon could not be reset', { reason: reasonOf(error) })
        }
      }
    }
  }

  /**
   * Takes the machine to `desired` although the log does not say so yet. The journal records `back` as attempted and
   * stays open: the machine follows running as soon as no apply waits any more.
   */
  async returnAlone(desired: ConfigView, header: RevisionHeader, back: readonly RecordChangeValue[]): Promise<void> {
    const { store, drivers } = this.#parts
    const running = configView(store.running)
    const { steps, owners } = this.plan(running, desired, { atLeast: 'runtime', isReturn: true })
    const touched = new Set(owners)
    if (steps.length === 0) return
    await this.#each(
      drivers.filter((driver) => touched.has(driver)),
      (driver) => backTo(desired, running, driver),
    )
    await store.openJournal(this.#journal(header, steps, touched, back))
  }

  #journal(
    header: RevisionHeader,
    steps: readonly Step[],
    touched: ReadonlySet<Driver>,
    attempted: readonly RecordChangeValue[],
  ): Journal {
    return {
      ...header,
      steps: steps.map((step) => step.why),
      drivers: [...touched].map(({ name }) => name),
      attempted: this.#kept(attempted),
      ...this.#leftInDoubt(),
    }
  }

  /** A journal that replaces an open one carries its doubts along. */
  #leftInDoubt(): Pick<Journal, 'inDoubt'> {
    const { store } = this.#parts
    const open = store.journal()
    return open === undefined || store.frozen(open.applyId) !== undefined ? {} : { inDoubt: withEarlier(open) }
  }

  async #endDoubt(): Promise<void> {
    const { store } = this.#parts
    for (let open = store.journal(); open !== undefined; open = store.journal()) await store.closeJournal(open.applyId)
  }

  /** The parts of the daemon follow the machine: an address must exist before the daemon can listen on it. */
  async #withOwn(
    running: ConfigView,
    desired: ConfigView,
    { recorded, warnings }: { readonly recorded: number; readonly warnings: readonly string[] },
    touched: ReadonlySet<Driver>,
    header: RevisionHeader,
  ): Promise<Enacted> {
    const done: { keep(): void; takeBack(): void }[] = []
    const { nodeId } = this.#parts
    const takeBack = async (why: string, output: string): Promise<ApiError> => {
      for (const part of done.toReversed()) part.takeBack()
      const isUndone = touched.size === 0 || (await this.#restore(desired, running, touched, header))
      return applyFailed({ why, output, nodeId, title: titleOf(isUndone) })
    }
    for (const part of this.#parts.own) {
      try {
        const change = await part.enact(running, desired)
        if (change !== undefined) done.push(change)
      } catch (error) {
        throw await takeBack('listen at the new address of the user interface', reasonOf(error))
      }
    }
    return {
      isDryRun: recorded > 0,
      warnings,
      keep: () => {
        for (const part of done) part.keep()
      },
      takeBack,
    }
  }

  /**
   * Takes the machine back to running, whatever part of `attempted` it holds; resolves with whether that succeeded.
   * Only then is the journal closed.
   */
  async #restore(
    attempted: ConfigView,
    running: ConfigView,
    touched: ReadonlySet<Driver>,
    { applyId }: RevisionHeader,
  ): Promise<boolean> {
    const { store, log } = this.#parts
    const failed = await this.#each([...touched], (driver) => backTo(running, attempted, driver))
    if (failed === undefined) {
      await store.closeJournal(applyId)
      return true
    }
    log.error('the previous configuration could not be restored; this is retried', {
      why: failed.why,
      output: failed.output,
    })
    return false
  }

  /**
   * Makes the machine match running, whatever its state, driver by driver: a driver that fails does not stop the
   * others. After a crash during an apply (open journal), the drivers that the apply had touched are included.
   */
  async converge(select: (driver: Driver) => boolean): Promise<PlanResult> {
    const { store, drivers, log } = this.#parts
    const { wanted: running, journal } = this.#wanted()
    if (journal !== undefined)
      log.warn('an apply did not finish; restoring the running configuration', { applyId: journal.applyId })
    await prepare(drivers, running)
    const attempted = journal === undefined ? undefined : attemptedView(store.running, journal.attempted ?? [])
    const isInDoubt = ({ name }: Driver) => journal !== undefined && journal.drivers?.includes(name) !== false
    const selected = drivers.filter((driver) => isInDoubt(driver) || select(driver))
    const failed = await this.#each(selected, (driver) =>
      attempted !== undefined && isInDoubt(driver)
        ? backTo(running, attempted, driver)
        : driver.plan(undefined, running, { atLeast: 'runtime' }),
    )
    if (failed === undefined && journal !== undefined) await this.#endDoubt()
    return failed ?? { ok: true, done: selected.length, recorded: 0, warnings: [] }
  }

  /**
   * Returns the wanted state of the machine, and the journal if some of it is in doubt. An apply that took effect here
   * stays until the cluster has decided on it.
   */
  #wanted(): { readonly wanted: ConfigView; readonly journal?: Journal | undefined } {
    const { store } = this.#parts
    const journal = store.journal()
    const enacted = journal && store.frozen(journal.applyId)
    if (enacted !== undefined) return { wanted: frozenView(store.running, enacted) }
    return { wanted: configView(store.running), journal: journal && withEarlier(journal) }
  }

  /** Returns the first failure, after all drivers had their turn. */
  async #each(
    drivers: readonly Driver[],
    planOf: (driver: Driver) => readonly Step[],
  ): Promise<PlanFailure | undefined> {
    const { executor, log } = this.#parts
    let failed: PlanFailure | undefined
    for (const driver of drivers) {
      const { steps } = orderPlan(planOf(driver).map((step) => ({ step, owner: driver })))
      if (steps.length === 0) continue
      const result = await executor.execute(steps)
      if (result.ok) for (const warning of result.warnings) log.warn(warning, { driver: driver.name })
      else {
        failed ??= result
        log.error('the running configuration could not be restored', {
          driver: driver.name,
          why: result.why,
          output: result.output,
        })
      }
    }
    return failed
  }

  #refusal(failure: PlanFailure, { owners }: Plan, desired: ConfigView, title?: string): ApiError {
    const owner = owners[failure.failedStep]
    const { nodeId } = this.#parts
    return planRefusal(failure, desired, { drivers: owner === undefined ? [] : [owner], nodeId }, title)
  }

  /** Returns the changes that recovery needs: a driver that makes everything anew needs none. */
  #kept(changes: readonly RecordChangeValue[]): NonNullable<Journal['attempted']> {
    const sections = new Set<string>(
      this.#parts.drivers.filter((driver) => !driver.makesAnew).flatMap((driver) => driver.sections),
    )
    return changes.filter((change) => sections.has(change.section))
  }
}

/** Adds the doubts of the earlier journal. For each record, the last attempt counts. */
function withEarlier({ inDoubt, drivers, attempted = [], ...journal }: Journal): Journal {
  const both = inDoubt === undefined ? drivers : inDoubt.drivers && drivers && [...inDoubt.drivers, ...drivers]
  return {
    ...journal,
    ...(both && { drivers: [...new Set(both)] }),
    attempted: [...(inDoubt?.attempted ?? []), ...attempted],
  }
}
