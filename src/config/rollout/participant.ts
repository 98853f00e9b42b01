import type { Frozen, RevisionHeader } from '../../../storage/config/config-store.ts'
import { ApiError } from '../../base/errors.ts'
import type { ApplyParts } from '../apply-parts.ts'
import type { Enacted, Enactor } from '../enactor.ts'
import type { Exclusive } from '../exclusive.ts'
import { prepare } from '../turns.ts'
import { verifyAll } from '../verify-all.ts'
import { configView, frozenView, recordChanges, sideOf } from '../views.ts'
import { arm } from '../waiting.ts'
import { decisionOn, refuseUnderWay, thaw } from './decision.ts'
import type { OtherNodes, RolloutAnswer, RolloutQuestion } from './other-nodes.ts'
import { said } from './rollout.ts'

/** How long the node that leads an apply may be away before others end it. */
export const AWAY_MS_MAX = 3_000
/** What is asked about an entry that this node has not read yet waits so long for it. */
const BEHIND_MS_MAX = 30_000

export interface ParticipantParts extends ApplyParts {
  readonly others: OtherNodes
  readonly enactor: Enactor
  readonly machine: Exclusive
}

/** What took effect here while nobody has decided on it. */
interface Held {
  readonly header: RevisionHeader
  /** Absent when the daemon was started since: its journal has it. */
  readonly enacted?: Enacted
}

/**
 * What a node does about applies of all nodes: what it is asked for, and what the log says. It looks at the store and
 * not at single entries, so that nothing is lost when the daemon ends, or when a checkpoint takes the place of entries.
 */
export class Participant {
  readonly #parts: ParticipantParts
  #held: Held | undefined
  /** The revision that this machine runs, or is made to. */
  #followed: number
  /** The revision up to which the daemon's own parts know what has changed. */
  #told: number
  #telling: Promise<void> = Promise.resolve()
  #ledId: string | undefined
  #away: { readonly applyId: string; readonly since_ms: number } | undefined
  readonly #waiting = new Set<() => void>()

  constructor(parts: ParticipantParts) {
    const { store } = parts
    this.#parts = parts
    this.#followed = store.revision
    this.#told = store.revision
    const frozen = store.underWay()
    if (frozen?.asked !== undefined && store.journal()?.applyId === frozen.applyId)
      this.#held = { header: frozen.asked.header }
  }

  /** Answers a node that leads an apply. */
  answer({ ask, applyId }: RolloutQuestion): Promise<RolloutAnswer> {
    const answers = {
      prepare: () => this.#prepare(applyId),
      enact: () => this.#enact(applyId),
      goBack: () => this.#wentBack(applyId),
    } as const
    return said(answers[ask], this.#parts.log)
  }

  /** Called for each entry that was folded, of whatever node. */
  folded(): void {
    this.#wake()
    if (this.#parts.store.revision > this.#told) this.tell().catch((error: unknown) => this.#failed(error))
    void this.settle()
  }

  /** Called each second: what could not be done at once, and whether the node that leads an apply has gone. */
  async look(): Promise<void> {
    this.#wake()
    await this.#endAbandoned().catch((error: unknown) => this.#failed(error))
    await this.tell().catch((error: unknown) => this.#failed(error))
    await this.settle()
  }

  /** Resolves when nothing is frozen. Refuses when nobody ends it: only the log can, and it may not be answered now. */
  async idle(): Promise<void> {
    const { store, others } = this.#parts
    await this.#until(() => store.underWay() === undefined)
    refuseUnderWay(store, others)
  }

  /** An apply that was requested on this node: its leader reports the result. */
  lead(applyId: string): void {
    this.#ledId = applyId
  }

  /** This node's machine runs what is running by now. */
  made(): void {
    this.#followed = this.#parts.store.revision
  }

  /** The revision that this machine runs; a smaller one than the last while it follows. */
  get followed(): number {
    return this.#followed
  }

  /** Keeps what took effect here until the log says what becomes of it. */
  hold(header: RevisionHeader, enacted: Enacted): void {
    this.#held = { header, enacted }
    void this.settle()
  }

  /** Makes the machine what the log has said by now. What fails is tried again by `look`. */
  async settle(): Promise<void> {
    if (!this.#isBehind()) return
    try {
      await this.#parts.machine.run('maintenance', () => this.#settle())
    } catch (error) {
      this.#failed(error)
    }
  }

  /** Tells parts of the daemon what every revision has changed, each once, in their order. */
  tell(): Promise<void> {
    const telling = this.#telling.then(() => this.#tell())
    this.#telling = telling.catch(() => undefined)
    return telling
  }

  async #prepare(applyId: string): Promise<RolloutAnswer> {
    const { store, drivers, enactor, machine } = this.#parts
    await this.#until(() => store.frozen(applyId) !== undefined)
    return machine.run('maintenance', async () => {
      const { changes, atLeast } = this.#asked(applyId)
      const desired = frozenView(store.running, changes)
      await prepare(drivers, desired)
      await verifyAll(this.#parts, desired)
      await enactor.check(desired, { atLeast })
      return { ok: true, isDryRun: false, warnings: [] }
    })
  }

  async #enact(applyId: string): Promise<RolloutAnswer> {
    const { store, enactor, machine } = this.#parts
    const enacted = await machine.run('maintenance', async () => {
      const { changes, atLeast, header } = this.#asked(applyId)
      const desired = frozenView(store.running, changes)
      const made = await enactor.enact(
        configView(store.running),
        desired,
        { atLeast },
        header,
        sideOf(changes, 'after'),
      )
      this.#held = { header, enacted: made }
      return made
    })
    // The log may have said meanwhile what becomes of it.
    void this.settle()
    return { ok: true, isDryRun: enacted.isDryRun, warnings: enacted.warnings }
  }

  async #wentBack(applyId: string): Promise<RolloutAnswer> {
    const { store, nodeId, machine } = this.#parts
    await this.#until(() => store.frozen(applyId) === undefined)
    // What it was asked for may still be under way here.
    await machine.idle()
    await this.settle()
    if (store.journal() === undefined) return { ok: true, isDryRun: false, warnings: [] }
    const output = 'the log of the node tells why'
    const nodes = [{ nodeId, ok: false, step: 'restore what was there before', output }]
    throw new ApiError('APPLY_PARTIAL', 'The machine is not as running says; it is tried again', { data: { nodes } })
  }

  /** What this node is asked to make running; refuses when the log has ended that apply. */
  #asked(applyId: string): NonNullable<Frozen['asked']> & Pick<Frozen, 'changes'> {
    const frozen = this.#parts.store.underWay()
    if (frozen?.applyId === applyId && frozen.asked !== undefined) return { ...frozen.asked, changes: frozen.changes }
    throw new ApiError('NODE_UNREACHABLE', 'The apply has ended, or is not known here yet')
  }

  #isBehind(): boolean {
    const { store } = this.#parts
    const isDecided = this.#held !== undefined && decisionOn(store, this.#held.header) !== 'open'
    return isDecided || store.revision > this.#followed
  }

  async #settle(): Promise<void> {
    const { store, enactor, log } = this.#parts
    const held = this.#held
    if (held !== undefined) {
      const decision = decisionOn(store, held.header)
      if (decision === 'open') return
      const { applyId, revision } = held.header
      log.info('an apply over nodes was decided', { applyId, decision })
      if (decision === 'promoted' && held.enacted !== undefined) {
        held.enacted.keep()
        // What this node has alone is no revision.
        if (!store.isAheadBy(applyId)) this.#followed = revision
      }
      if (decision === 'thawed') {
        if (held.enacted === undefined) await enactor.converge(() => false)
        else await held.enacted.takeBack('keep what another node led', 'it came to nothing there')
      }
      this.#held = undefined
    }
    if (store.revision > this.#followed) await this.#follow()
  }

  /** What others have made running without this node. */
  async #follow(): Promise<void> {
    const { store, drivers, enactor, log, tell } = this.#parts
    const { revision } = store
    const missed = store.revisions(revision - this.#followed)
    const [header] = missed
    if (header === undefined) throw new Error(`revision ${revision} is not kept`)
    // Newest first, so that of a record the oldest counts: that is what this machine has.
    const before = missed.flatMap(({ changes }) => changes.map((change) => ({ ...change, after: change.before })))
    const running = configView(store.running)
    await prepare(drivers, running)
    if (store.journal() !== undefined) await enactor.converge(() => false)
    const moveOwn = await enactor.openReturn(running, header, before)
    const { ok } = await enactor.converge(() => false)
    await moveOwn()
    this.#followed = revision
    log.info('followed what other nodes have applied', { revision, ok })
    if (ok) tell({ state: 'followed', by: header.by, revision, comment: header.comment })
  }

  async #tell(): Promise<void> {
    const { store, nodeId, clock, onPromoted, tell } = this.#parts
    for (const made of store.revisions(store.revision - this.#told).toReversed()) {
      const { applyId, revision, by, comment, changes } = made
      await onPromoted(recordChanges(made))
      this.#told = revision
      if (applyId !== this.#ledId) tell({ state: 'applied', by, revision, comment, changes: changes.length })
    }
    await arm(store, nodeId, clock)
  }

  /** The leader of an apply may have gone for good. Its promotion and what ends it exclude each other in the log. */
  async #endAbandoned(): Promise<void> {
    const { store, nodeId, others, machine, clock, log } = this.#parts
    const frozen = store.underWay()
    const leader = frozen?.asked?.nodeId
    // What this node leads it does in one call.
    const isLed = leader === nodeId ? machine.isCalled : leader === undefined || others.isLive(leader)
    if (frozen === undefined || isLed) {
      this.#away = undefined
      return
    }
    const { applyId } = frozen
    const now_ms = clock.monotonic_ms()
    if (this.#away?.applyId !== applyId) this.#away = { applyId, since_ms: now_ms }
    if (leader !== nodeId && now_ms - this.#away.since_ms < AWAY_MS_MAX) return
    log.warn('an apply is ended whose node is away', { applyId, leader })
    await thaw(store, applyId)
  }

  async #until(isSo: () => boolean): Promise<void> {
    const { clock } = this.#parts
    const until_ms = clock.monotonic_ms() + BEHIND_MS_MAX
    while (!isSo() && clock.monotonic_ms() < until_ms) await this.#woken()
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(resolve)
    })
  }

  #wake(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const resolve of waiting) resolve()
  }

  #failed(error: unknown): void {
    this.#parts.log.error('this node could not follow the others yet; it is tried again', { reason: String(error) })
  }
}
