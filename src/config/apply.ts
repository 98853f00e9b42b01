import type { Asked, Change, Deadline, RevisionHeader, Unconfirmed } from '../../storage/config/config-store.ts'
import type { FreezeEntry } from '../../storage/config/entry.ts'
import type { Applied, AppliedHere, ApplyOptions, ApplyState } from '../context/applying.ts'
import type { Driver, PlanResult, Step } from '../drivers/driver.ts'
import { ApiError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { planRefusal } from './apply-refusals.ts'
import { applyState, type Begun } from './apply-state.ts'
import { chosenChanges } from './chosen-changes.ts'
import type { ApplyDetails, ApplyParts, Caller } from './apply-parts.ts'
import { refuseCut } from './cut-refusal.ts'
import { type Enacted, Enactor } from './enactor.ts'
import { Exclusive } from './exclusive.ts'
import { heedWarnings } from './heeding.ts'
import { refuseRevisionFlood } from './revision-flood.ts'
import { refuseUnderWay, thaw } from './rollout/decision.ts'
import { Participant } from './rollout/participant.ts'
import { HERE_ALONE, NO_OTHERS, type Reach, Rollout } from './rollout/rollout.ts'
import { requireWaiting, takeBack, type TakenBack, WentBackAlone } from './take-back.ts'
import { onOneRevision, prepare } from './turns.ts'
import { verifyAll } from './verify-all.ts'
import { deadlineIn, deadlineOf, refuseWaiting, waiting } from './waiting.ts'
import { configView, frozenView, recordChange, sideOf } from './views.ts'
import { wentLive } from './went-live.ts'
import { reasonOf } from '../base/reason.ts'

/** Turns staged changes into the machine's state: verify, plan, journal, execute, promote; undo when a step fails. */
export class ApplyEngine {
  readonly #parts: ApplyParts
  readonly #enactor: Enactor
  readonly #machine = new Exclusive()
  /** This node's part in applies over all nodes; undefined if it is the only node. */
  readonly participant: Participant | undefined
  #begun: Begun | undefined
  /** Id of the apply that this machine has taken back before the log could record it. */
  #wentBackFrom: string | undefined

  constructor(parts: ApplyParts) {
    const enactor = new Enactor(parts)
    const { others } = parts
    const participant = others && new Participant({ ...parts, others, enactor, machine: this.#machine })
    this.#enactor = enactor
    this.participant = participant
    // In a cluster, the participant reports each revision once to the parts of the daemon, whichever node applied it.
    this.#parts = participant === undefined ? parts : { ...parts, onPromoted: () => participant.tell() }
  }

  get busy(): boolean {
    return this.#machine.busy
  }

  /**
   * Whether the machine differs, or may soon differ, from running; also while an apply that took effect here is
   * undecided in the cluster.
   */
  get isUnsettled(): boolean {
    return this.busy || this.#parts.store.underWay() !== undefined
  }

  /** Unlike `busy`, false while the daemon only makes the machine what running says. */
  get isApplying(): boolean {
    return this.#machine.isCalled
  }

  /**
   * Resolves when nothing holds this machine. An apply that the nodes have yet to decide on survives a stop in the
   * journal.
   */
  released(): Promise<void> {
    return this.#machine.idle()
  }

  /**
   * Resolves when nothing holds this machine and no apply is under way on any node. Refuses with APPLY_IN_PROGRESS if
   * an apply does not end in time.
   */
  async idle(): Promise<void> {
    await this.released()
    await this.participant?.idle()
  }

  /**
   * `only` narrows the apply to some of the pending changes; the others stay pending. Without it, the caller must have
   * the right to make all of them.
   */
  async apply(options: ApplyOptions, caller: Caller, only?: (change: Change) => boolean): Promise<Applied> {
    const { store } = this.#parts
    const { by, may = () => true } = caller
    return this.#called(options, caller, () => {
      const chosen = only === undefined ? chosenChanges(store, options, { by, may }) : undefined
      const isChosen = only ?? ((change) => chosen?.has(change.id) === true)
      return store
        .changes()
        .filter(isChosen)
        .map(({ id }) => id)
    })
  }

  /**
   * Applies changes that were never pending; `take` is called for them between edits. Pending changes of the same
   * records stay pending and keep their own values. A refusal, or the end of the daemon, leaves nothing behind.
   */
  async applyUnstaged(take: () => readonly Change[], options: ApplyDetails, caller: Caller): Promise<Applied> {
    return this.#called({ ...options, unstaged: true }, caller, take)
  }

  get state(): ApplyState {
    const { store, clock } = this.#parts
    const unconfirmed = store.unconfirmed()
    return applyState(store, clock, this.#begun, unconfirmed && this.#shownDeadline(unconfirmed))
  }

  /** The state as this node alone sees it. */
  get here(): AppliedHere {
    const { store } = this.#parts
    const { state } = this.state
    const followed = this.participant?.followed ?? store.revision
    const hasGoneBack = this.#wentBackFrom !== undefined && store.unconfirmed()?.applyId === this.#wentBackFrom
    return { state, revision: hasGoneBack ? followed - 1 : followed }
  }

  /** When this node takes the apply back; undefined if it has only just learnt of the apply. */
  deadlineOf(unconfirmed: Unconfirmed): Deadline | undefined {
    return deadlineOf(this.#parts.store, this.#parts.nodeId, unconfirmed)
  }

  /** An apply that this node has only just learnt of has all of its time left. */
  #shownDeadline(unconfirmed: Unconfirmed): Deadline {
    return this.deadlineOf(unconfirmed) ?? deadlineIn(unconfirmed.among?.within_s ?? 0, this.#parts.clock)
  }

  #refuseWaiting(): void {
    const { store, clock } = this.#parts
    const unconfirmed = store.unconfirmed()
    if (unconfirmed !== undefined) refuseWaiting(unconfirmed, this.#shownDeadline(unconfirmed), clock)
  }

  /**
   * Runs a caller's apply and reports its outcome. `take` chooses the changes between edits, so that the changes it has
   * examined are the ones that are frozen.
   */
  #called(options: ApplyDetails, caller: Caller, take: () => FreezeEntry['changes']): Promise<Applied> {
    return this.#machine.run('caller', async () => {
      const { store } = this.#parts
      this.#refuseWaiting()
      const begun = this.#begin(caller.by, options.comment ?? '', options.applyId)
      const { applyId } = begun
      try {
        const header = await this.#freeze(begun, options, take)
        return await this.#applyFrozen(store.frozen(applyId) ?? [], options, caller, header)
      } catch (error) {
        const reason = error instanceof ApiError ? error.message : 'a defect of the daemon; see its log'
        this.#parts.tell({ state: 'refused', by: caller.by, revision: store.revision, reason })
        throw error
      } finally {
        this.#begun = undefined
        await this.#end(applyId)
      }
    })
  }

  /**
   * Repeats the checks inside the edit: other nodes write as well, so the state may have changed since the first check.
   */
  #freeze(begun: RevisionHeader, { force }: ApplyOptions, take: () => FreezeEntry['changes']): Promise<RevisionHeader> {
    const { store, others, nodeId } = this.#parts
    const { applyId } = begun
    return store.edit(() => {
      refuseUnderWay(store, others)
      this.#refuseWaiting()
      const header = { ...begun, revision: store.revision + 1 }
      const asked: Asked | undefined = others && { nodeId, header, atLeast: force ?? 'runtime' }
      return { result: header, entry: { op: 'freeze', applyId, changes: take(), asked } }
    })
  }

  /** Does nothing after a promotion. What a cluster cannot write now, its nodes write later. */
  async #end(applyId: string): Promise<void> {
    const { store, others, log } = this.#parts
    try {
      await thaw(store, applyId)
    } catch (error) {
      if (others === undefined) throw error
      log.warn('the failure of an apply could not be recorded yet', { applyId, why: String(error) })
    }
  }

  async #applyFrozen(
    frozen: readonly Change[],
    options: ApplyDetails,
    caller: Caller,
    header: RevisionHeader,
  ): Promise<Applied> {
    const { store } = this.#parts
    if (frozen.length === 0) return this.#forced(header, options)
    if (options.onlyHere !== true) refuseRevisionFlood(store, header)
    const desired = frozenView(store.running, frozen)
    await prepare(this.#parts.drivers, desired)
    const plan = { atLeast: options.force ?? 'runtime' } as const
    const reach = this.#reach(header, options)
    await reach.prepare(
      () => verifyAll(this.#parts, desired),
      () => this.#enactor.check(desired, plan),
    )
    const told = await heedWarnings(frozen, [configView(store.running), desired], options, this.#parts.clock.now_ms())
    await refuseCut(this.#parts, desired, options, caller)
    const prepared = this.#parts.beforeApply(frozen)
    const enact = () => this.#enactor.enact(configView(store.running), desired, plan, header, sideOf(frozen, 'after'))
    const applied = await this.#make(frozen, await reach.enact(enact), options, header)
    const warning = await prepared
    return { ...applied, told, warnings: warning === undefined ? applied.warnings : [...applied.warnings, warning] }
  }

  /** Takes back an apply that was not confirmed in time; undefined if it was confirmed before this got its turn. */
  async revert(unconfirmed: Unconfirmed): Promise<TakenBack | undefined> {
    return this.#machine.run('maintenance', async () => {
      const { applyId, revision } = unconfirmed
      if (this.#parts.store.unconfirmed()?.applyId !== applyId) return undefined
      const alone = this.#wentBackFrom === applyId ? 'went' : 'may'
      try {
        return await this.#takeBack('fulcrum', `revision ${revision} was not confirmed in time`, alone)
      } catch (error) {
        if (error instanceof WentBackAlone) this.#wentBackFrom = applyId
        throw error
      }
    })
  }

  /**
   * Takes back the apply that waits for confirmation; refuses if none waits, or if the caller could not have made its
   * changes.
   */
  async revertNow({ by, may }: Pick<Caller, 'by' | 'may'>): Promise<TakenBack> {
    return this.#machine.run('caller', async () => {
      const { revision } = requireWaiting(
        this.#parts.store,
        may,
        'ask somebody with the right, or wait until it is reverted',
      )
      const taken = await this.#takeBack(by, `revision ${revision} was reverted`)
      if (taken === undefined)
        throw new ApiError('NOT_FOUND', 'No apply waits any more: another node has already settled it')
      return taken
    })
  }

  async #takeBack(by: string, comment: string, alone?: 'may' | 'went'): Promise<TakenBack | undefined> {
    const header = this.#begin(by, comment)
    try {
      const taken = await takeBack(this.#parts, this.#enactor, header, alone)
      if (taken !== undefined) this.participant?.made()
      return taken
    } finally {
      this.#begun = undefined
    }
  }

  /**
   * Ends the waiting; refuses if nothing waits, if it is being taken back right now, or if the caller could not have
   * made the changes.
   */
  async confirm({ may }: Pick<Caller, 'may'> = {}): Promise<Unconfirmed> {
    return this.#machine.run('caller', async () => {
      const { store } = this.#parts
      const unconfirmed = await store.edit(() => {
        const waits = requireWaiting(store, may, 'ask somebody with the right, or let the apply be reverted')
        return { result: waits, entry: { op: 'confirm', applyId: waits.applyId } }
      })
      this.#parts.tell({ state: 'kept', by: unconfirmed.by, revision: unconfirmed.revision })
      return unconfirmed
    })
  }

  /** Handles an apply without pending changes: it makes no revision, whatever it restarts. */
  async #forced(header: RevisionHeader, { force }: ApplyOptions): Promise<Applied> {
    const { store, log, tell } = this.#parts
    const { revision } = store
    const nothing = { ...header, revision, confirmBy: undefined, isDryRun: false, warnings: [] }
    if (force === undefined) return nothing
    const running = configView(store.running)
    await prepare(this.#parts.drivers, running)
    const { isDryRun, warnings } = await this.#enactor.enact(running, running, { atLeast: force }, header, [])
    await store.closeJournal(header.applyId)
    log.info('restarted', { revision, by: header.by })
    tell({ state: 'applied', by: header.by, revision, comment: header.comment, changes: 0 })
    return { ...nothing, isDryRun, warnings }
  }

  async #make(
    frozen: readonly Change[],
    enacted: Enacted,
    { confirmWithin, unstaged, onlyHere = false }: ApplyDetails,
    header: RevisionHeader,
  ): Promise<Applied> {
    const { store, clock, log, tell, onPromoted, others, nodeId } = this.#parts
    // The time counts from now on, when the change is in effect, so that the duration of the apply is not lost.
    const among = others && nodeId
    const unconfirmed = confirmWithin === undefined ? undefined : waiting(header, confirmWithin, clock, among)
    try {
      await store.write({ op: 'promote', header, unconfirmed, unstaged, onlyOn: onlyHere ? nodeId : undefined })
    } catch (error) {
      // The machine has the new configuration and the store the old one: go back, as for any other step that failed.
      const output = reasonOf(error)
      log.error('the new configuration could not be stored', { output })
      // A store that has failed refuses the end of the journal as well; its first failure is the one to report.
      const why = await enacted.takeBack('keep the new configuration', output).catch(() => error)
      throw why
    }
    enacted.keep()
    this.participant?.made()
    await onPromoted(frozen.map(recordChange))
    const { isDryRun, warnings, nodes } = enacted
    const { revision } = store
    for (const warning of warnings) log.warn(warning, { revision })
    const { by, comment } = header
    const confirmBy = unconfirmed?.confirmBy
    const only = onlyHere ? { onlyOn: nodeId } : {}
    log.info('applied', { revision, changes: frozen.length, by, ...only })
    tell({ state: 'applied', by, revision, comment, changes: frozen.length, confirmBy, ...only })
    const live = wentLive(revision, frozen)
    return { ...header, revision, confirmBy, isDryRun, warnings, ...(nodes && { nodes }), live }
  }

  /**
   * Reports all problems of the candidate, or of running with other changes, including the checker's. Touches nothing.
   */
  async validate(take?: () => readonly Change[]): Promise<void> {
    const { store, drivers } = this.#parts
    await onOneRevision(store, async () => {
      const view = frozenView(store.running, take?.() ?? store.changes())
      await prepare(drivers, view)
      await verifyAll(this.#parts, view)
      await this.#enactor.check(view, { atLeast: 'reload' })
    })
  }

  /** Makes the machine match running, whatever its state: at a start, and after a program has ended. */
  converge(select: (driver: Driver) => boolean = () => true): Promise<PlanResult> {
    return this.#machine.run('maintenance', () => this.#enactor.converge(select))
  }

  /** Reloads or restarts a program with the configuration of running. */
  async enforce(name: string, atLeast: 'reload' | 'restart'): Promise<void> {
    const running = configView(this.#parts.store.running)
    const driver = this.#parts.drivers.find((candidate) => candidate.name === name)
    await this.run(driver?.plan(undefined, running, { atLeast }) ?? [], driver)
  }

  /**
   * Runs a single plan, such as the update of a package; refuses as an apply would. Resolves with whether it was only
   * recorded.
   */
  async run(steps: readonly Step[], owner?: Driver): Promise<{ readonly isDryRun: boolean }> {
    const { executor, store, nodeId, others } = this.#parts
    const result = await this.#machine.run('caller', () => {
      refuseUnderWay(store, others)
      return executor.execute(steps)
    })
    if (result.ok) return { isDryRun: result.recorded > 0 }
    const drivers = owner === undefined ? [] : [owner]
    throw planRefusal(result, configView(store.running), { drivers, nodeId })
  }

  /** Returns where the apply takes effect: on this node, or on all nodes that are up. */
  #reach(header: RevisionHeader, { onlyHere = false }: ApplyOptions): Reach {
    const { participant } = this
    const { others } = this.#parts
    if (others === undefined || participant === undefined) return HERE_ALONE
    const hold = participant.hold.bind(participant)
    return new Rollout({ ...this.#parts, others: onlyHere ? NO_OTHERS : others, hold }, header)
  }

  #begin(by: string, comment: string, applyId = newId()): RevisionHeader {
    const at = new Date(this.#parts.clock.now_ms()).toISOString()
    const header = { applyId, revision: this.#parts.store.revision + 1, by, at, comment }
    this.#begun = header
    this.participant?.lead(applyId)
    return header
  }
}
