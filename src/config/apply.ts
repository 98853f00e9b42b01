import type { Change, ConfigWriter, RevisionHeader, Unconfirmed } from '../../storage/config/config-store.ts'
import type { Applied, ApplyOptions } from '../api/applying.ts'
import { changesNothing } from '../../storage/config/mirror.ts'
import type { Driver, PlanResult, Step } from '../drivers/driver.ts'
import { ApiError } from '../errors.ts'
import { newId } from '../ids.ts'
import type { ConfigView, SectionName, SectionRecords } from '../model/sections.ts'
import { planRefusal } from './apply-refusals.ts'
import { amendRecord } from './amend-record.ts'
import { chosenChanges } from './chosen-changes.ts'
import type { AmendedSection, Amending, ApplyDetails, ApplyParts, Caller } from './apply-parts.ts'
import { refuseCut } from './cut-refusal.ts'
import { Enactor } from './enactor.ts'
import { Exclusive } from './exclusive.ts'
import { refuseForeign } from './needed-rights.ts'
import { refuseRevisionFlood } from './revision-flood.ts'
import { onOneRevision, prepare } from './turns.ts'
import { verifyAll } from './verify-all.ts'
import { refuseWaiting, waiting } from './waiting.ts'
import { CLUSTER, configView, frozenView, recordChange, sideOf } from './views.ts'
import { lastMade, patchOf, pendingAgain, reversed } from './views.ts'

/** Turns staged changes into the machine's state: verify, plan, journal, execute, promote; undo when a step fails. */
export class ApplyEngine {
  readonly #parts: ApplyParts
  readonly #enactor: Enactor
  readonly #machine = new Exclusive()

  constructor(parts: ApplyParts) {
    this.#parts = parts
    this.#enactor = new Enactor(parts)
  }

  get busy(): boolean {
    return this.#machine.busy
  }

  /** Unlike `busy`, false while the daemon only makes the machine what running says. */
  get isApplying(): boolean {
    return this.#machine.isCalled
  }

  /** Resolves when nothing holds the machine. */
  idle(): Promise<void> {
    return this.#machine.idle()
  }

  /** `only` narrows the apply to some of the pending changes; the others stay pending. Without it, who asks must be able to make them. */
  async apply(options: ApplyOptions, caller: Caller, only?: (change: Change) => boolean): Promise<Applied> {
    const { store } = this.#parts
    const { by, may = () => true } = caller
    return this.#called(caller, async () => {
      const frozen = await store.exclusively(async (writer) => {
        // What is looked at is what is frozen: nobody edits in between.
        const chosen = only === undefined ? chosenChanges(store, options, { by, may }) : undefined
        return writer.freeze(only ?? ((change) => chosen?.has(change.id) === true))
      })
      return this.#applyFrozen(frozen, options, caller)
    })
  }

  /**
   * Applies a change of one record that was never pending. What is pending for it stays pending and keeps what it wants
   * itself. Nothing is left behind when it is refused, or when the daemon ends meanwhile.
   */
  async patch<N extends SectionName>(
    section: N,
    id: string,
    pendingFollows: Partial<SectionRecords[N]>,
    options: ApplyOptions & { readonly applyId: string },
    caller: Caller,
  ): Promise<Applied> {
    return this.#called(caller, () => {
      const change = patchOf(this.#parts.store.running, { section, scope: CLUSTER, key: id }, pendingFollows)
      return this.#applyFrozen(changesNothing(change) ? [] : [change], { ...options, pendingFollows }, caller)
    })
  }

  /** An apply that somebody asked for; what came of it is told. */
  #called(caller: Caller, work: () => Promise<Applied>): Promise<Applied> {
    return this.#machine.run('caller', async () => {
      const { store, clock } = this.#parts
      refuseWaiting(store.unconfirmed(), clock)
      try {
        return await work()
      } catch (error) {
        const reason = error instanceof ApiError ? error.message : 'a defect of the daemon; its log explains it'
        this.#parts.tell({ state: 'refused', by: caller.by, revision: store.revision, reason })
        throw error
      } finally {
        await store.thaw()
      }
    })
  }

  async #applyFrozen(frozen: readonly Change[], options: ApplyDetails, caller: Caller): Promise<Applied> {
    const { store } = this.#parts
    const header = this.#header(caller.by, options.comment ?? '', options.applyId)
    if (frozen.length === 0) return this.#forced(header, options)
    refuseRevisionFlood(store, header)
    const desired = frozenView(store.running, frozen)
    await prepare(this.#parts.drivers, desired)
    await verifyAll(this.#parts, desired)
    await refuseCut(this.#parts, desired, options, caller)
    const prepared = this.#parts.beforeApply(frozen)
    const applied = await this.#make(frozen, desired, options, header)
    const warning = await prepared
    return warning === undefined ? applied : { ...applied, warnings: [...applied.warnings, warning] }
  }

  /**
   * A revision that was not confirmed in time is taken back as a new one. Running is the old configuration from that moment;
   * the machine follows driver by driver, as at a start, so that what one cannot do holds back nothing else.
   */
  async revert(unconfirmed: Unconfirmed): Promise<void> {
    await this.#machine.run('maintenance', async () => {
      const { store, drivers, log, tell, onPromoted } = this.#parts
      // Confirmed while this waited for its turn.
      if (store.unconfirmed()?.applyId !== unconfirmed.applyId) return
      const frozen = reversed(store, unconfirmed.revision)
      const desired = frozenView(store.running, frozen)
      await prepare(drivers, desired)
      const header = this.#header('fulcrum', `revision ${unconfirmed.revision} was not confirmed in time`)
      const done = await this.#enactor.openReturn(desired, header, frozen)
      // Nothing is lost: who made it may mend it, and apply it again.
      await store.promote(frozen, header, { keepsJournal: true, again: pendingAgain(store, unconfirmed.revision) })
      await onPromoted(frozen.map(recordChange))
      log.info('taken back', { revision: header.revision, changes: frozen.length })
      const { revision, by, comment } = header
      tell({ state: 'reverted', by, revision, comment, changes: frozen.length })
      await this.#enactor.converge(() => false)
      await done()
    })
  }

  /** Ends the waiting; refuses when nothing waits, when it is being reverted right now, and who could not have made the changes. */
  async confirm({ may }: Pick<Caller, 'may'> = {}): Promise<Unconfirmed> {
    return this.#machine.run('caller', async () => {
      const { store } = this.#parts
      const unconfirmed = store.unconfirmed()
      if (unconfirmed === undefined) throw new ApiError('NOT_FOUND', 'No apply waits for a confirmation')
      if (may !== undefined) refuseForeign(lastMade(store), may, 'ask somebody who may, or let the apply be taken back')
      await store.confirm()
      this.#parts.tell({ state: 'kept', by: unconfirmed.by, revision: unconfirmed.revision })
      return unconfirmed
    })
  }

  /** Nothing is pending: without a change there is no revision, whatever is restarted. */
  async #forced(header: RevisionHeader, { force }: ApplyOptions): Promise<Applied> {
    const { store, log, tell } = this.#parts
    const { revision } = store
    const nothing = { ...header, revision, confirmBy: undefined, isDryRun: false, warnings: [] }
    if (force === undefined) return nothing
    const running = configView(store.running)
    await prepare(this.#parts.drivers, running)
    const { isDryRun, warnings } = await this.#enactor.enact(running, running, { atLeast: force }, header, [])
    await store.closeJournal()
    log.info('restarted', { revision, by: header.by })
    tell({ state: 'applied', by: header.by, revision, comment: header.comment, changes: 0 })
    return { ...nothing, isDryRun, warnings }
  }

  async #make(
    frozen: readonly Change[],
    desired: ConfigView,
    { force, confirmWithin, pendingFollows }: ApplyDetails,
    header: RevisionHeader,
  ): Promise<Applied> {
    const { store, clock, log, tell, onPromoted } = this.#parts
    const running = configView(store.running)
    const plan = { atLeast: force ?? 'runtime' } as const
    const enacted = await this.#enactor.enact(running, desired, plan, header, sideOf(frozen, 'after'))
    // Counted from the moment that things are different, so that nobody loses the time that an apply takes.
    const unconfirmed = confirmWithin === undefined ? undefined : waiting(header, confirmWithin, clock)
    try {
      await store.promote(frozen, header, { unconfirmed, pendingFollows })
    } catch (error) {
      // The machine is new and the store is old: go back, as for any other step that failed.
      const output = error instanceof Error ? error.message : String(error)
      log.error('the new configuration could not be stored', { output })
      throw await enacted.takeBack('keep the new configuration', output)
    }
    enacted.keep()
    await onPromoted(frozen.map(recordChange))
    const { isDryRun, warnings } = enacted
    for (const warning of warnings) log.warn(warning, { revision: header.revision })
    const { revision, by, comment } = header
    const confirmBy = unconfirmed?.confirmBy
    log.info('applied', { revision, changes: frozen.length, by })
    tell({ state: 'applied', by, revision, comment, changes: frozen.length, confirmBy })
    return { ...header, confirmBy, isDryRun, warnings }
  }

  /** All problems of the candidate, the checker's included. Touches nothing. */
  async validate(): Promise<void> {
    const { store, executor, drivers } = this.#parts
    const [desired, plan] = await onOneRevision(store, async () => {
      const view = frozenView(store.running, store.changes())
      await prepare(drivers, view)
      await verifyAll(this.#parts, view)
      return [view, this.#enactor.plan(configView(store.running), view, { atLeast: 'reload' })] as const
    })
    const result = await executor.check(plan.steps)
    if (!result.ok) throw this.#enactor.refusal(result, plan, desired, 'The check could not be run')
  }

  /**
   * Changes a record of somebody's account at once; no driver has anything to do with those. What to change is asked for when
   * nothing else changes any more: by then the record may be another one, or gone. What `change` throws is the refusal.
   */
  async amend<N extends AmendedSection>(
    section: N,
    id: string,
    change: Amending<N>,
    writer: Pick<ConfigWriter, 'amend'> = this.#parts.store,
  ): Promise<void> {
    await this.#machine.run('maintenance', () => amendRecord(this.#parts, section, id, change, writer))
  }

  /** Makes the machine what running says, whatever it is now: at a start, and when a program has ended. */
  converge(select: (driver: Driver) => boolean = () => true): Promise<PlanResult> {
    return this.#machine.run('maintenance', () => this.#enactor.converge(select))
  }

  /** Reloads or restarts a program as running says. */
  async enforce(name: string, atLeast: 'reload' | 'restart'): Promise<void> {
    const running = configView(this.#parts.store.running)
    const driver = this.#parts.drivers.find((candidate) => candidate.name === name)
    await this.run(driver?.plan(undefined, running, { atLeast }) ?? [], driver)
  }

  /** Runs one plan alone, such as the update of a package; refuses as an apply would. Answers whether it was only recorded. */
  async run(steps: readonly Step[], owner?: Driver): Promise<{ readonly isDryRun: boolean }> {
    const { executor, store, nodeId } = this.#parts
    const result = await this.#machine.run('caller', () => executor.execute(steps))
    if (result.ok) return { isDryRun: result.recorded > 0 }
    const drivers = owner === undefined ? [] : [owner]
    throw planRefusal(result, configView(store.running), { drivers, nodeId })
  }

  #header(by: string, comment: string, applyId = newId()): RevisionHeader {
    const now_ms = this.#parts.clock.now_ms()
    const at = new Date(now_ms).toISOString()
    return { applyId, revision: this.#parts.store.revision + 1, by, at, comment }
  }
}
