import { patched } from '../../storage/config/amendment.ts'
import type { Change, RevisionHeader, Unconfirmed } from '../../storage/config/config-store.ts'
import type { Applied, ApplyOptions } from '../api/applying.ts'
import type { Driver, PlanOptions, PlanResult, Problem, Step } from '../drivers/driver.ts'
import { ApiError } from '../errors.ts'
import { newId } from '../ids.ts'
import type { ConfigView, RecordChange } from '../model/sections.ts'
import { configInvalid, planRefusal } from './apply-refusals.ts'
import { chosenChanges } from './chosen-changes.ts'
import type { AmendedSection, Amending, ApplyParts, Caller } from './apply-parts.ts'
import { Enactor } from './enactor.ts'
import { Exclusive } from './exclusive.ts'
import { refuseForeign } from './needed-rights.ts'
import { assertRecord } from './record-schema.ts'
import { onOneRevision, prepare, turn } from './turns.ts'
import { refuseRevisionFlood } from './revision-flood.ts'
import { refuseWaiting, waiting } from './waiting.ts'
import { CLUSTER, configView, frozenView, lastMade, pendingAgain, recordChange, reversed, sideOf } from './views.ts'

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
    return this.#machine.run('caller', async () => {
      const { store, clock } = this.#parts
      refuseWaiting(store.unconfirmed(), clock)
      const { by, may = () => true } = caller
      // Looked at and frozen in one go: what is staged from here on is not part of it.
      const chosen = only === undefined ? chosenChanges(store, options, { by, may }) : undefined
      const frozen = store.freeze(only ?? ((change) => chosen?.has(change.id) === true))
      try {
        return await this.#applyFrozen(frozen, options, caller)
      } catch (error) {
        const reason = error instanceof ApiError ? error.message : 'a defect of the daemon; its log explains it'
        this.#parts.tell({ state: 'refused', by: caller.by, revision: store.revision, reason })
        throw error
      } finally {
        await store.thaw()
      }
    })
  }

  async #applyFrozen(frozen: readonly Change[], options: ApplyOptions, caller: Caller): Promise<Applied> {
    const { store } = this.#parts
    const header = this.#header(caller.by, options.comment ?? '')
    if (frozen.length === 0) return this.#forced(header, options)
    refuseRevisionFlood(store, header)
    const running = configView(store.running)
    const desired = frozenView(store.running, frozen)
    await prepare(this.#parts.drivers, desired)
    await this.#verify(desired)
    await this.#refuseCut(running, desired, options, caller)
    const prepared = this.#parts.beforeApply(frozen)
    const plan = { atLeast: options.force ?? 'runtime' } as const
    const applied = await this.#make(frozen, desired, plan, header, options.confirmWithin)
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
    options: PlanOptions,
    header: RevisionHeader,
    confirmWithin?: number,
  ): Promise<Applied> {
    const { store, clock, log, tell, onPromoted } = this.#parts
    const running = configView(store.running)
    const enacted = await this.#enactor.enact(running, desired, options, header, sideOf(frozen, 'after'))
    // Counted from the moment that things are different, so that nobody loses the time that an apply takes.
    const unconfirmed = confirmWithin === undefined ? undefined : waiting(header, confirmWithin, clock)
    try {
      await store.promote(frozen, header, { unconfirmed })
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
      await this.#verify(view)
      return [view, this.#enactor.plan(configView(store.running), view, { atLeast: 'reload' })] as const
    })
    const result = await executor.check(plan.steps)
    if (!result.ok) throw this.#enactor.refusal(result, plan, desired, 'The check could not be run')
  }

  /**
   * Changes a record of somebody's account at once; no driver has anything to do with those. What to change is asked for when
   * nothing else changes any more: by then the record may be another one, or gone. What `change` throws is the refusal.
   */
  async amend<N extends AmendedSection>(section: N, id: string, change: Amending<N>): Promise<void> {
    await this.#machine.run('maintenance', async () => {
      const { store, onPromoted } = this.#parts
      const view = configView(store.running)
      const before = view.get(section, id)
      const patch = change(before)
      assertRecord(section, patched(before, patch))
      await store.amend({ section, scope: CLUSTER, key: id }, patch)
      // Sound: the store holds records of this section only.
      await onPromoted([{ section, id, before, after: view.get(section, id) } as RecordChange])
    })
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

  async #verify(desired: ConfigView): Promise<void> {
    const { drivers, rules, own, store } = this.#parts
    const running = configView(store.running)
    const problems: Problem[] = []
    for (const rule of [...drivers.map((driver) => driver.verify.bind(driver)), ...rules]) {
      problems.push(...rule(desired, running))
      await turn()
    }
    for (const part of own) problems.push(...(await part.verify(running, desired)))
    if (problems.length > 0) throw configInvalid(problems, undefined)
  }

  async #refuseCut(
    running: ConfigView,
    desired: ConfigView,
    options: ApplyOptions,
    { address }: Caller,
  ): Promise<void> {
    if (options.confirmWithin !== undefined || options.isForced === true || address === undefined) return
    const reason = await this.#parts.wouldCut(running, desired, address)
    if (reason === undefined) return
    const message = `${reason}: send confirmWithin, so that the change is taken back unless you confirm it, or force true`
    throw new ApiError('INVALID_BODY', `This apply could cut you off: ${message}`, {
      errors: [{ field: 'confirmWithin', code: 'CONFIRMATION_REQUIRED', message }],
    })
  }

  #header(by: string, comment: string): RevisionHeader {
    const now_ms = this.#parts.clock.now_ms()
    const at = new Date(now_ms).toISOString()
    return { applyId: newId(), revision: this.#parts.store.revision + 1, by, at, comment }
  }
}
