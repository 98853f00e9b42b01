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

/** How long the leader of an apply may be away before other nodes end the apply. */
export const AWAY_MS_MAX = 3_000
/** How long a question about an entry that this node has not read yet waits for that entry. */
const BEHIND_MS_MAX = 30_000

export interface ParticipantParts extends ApplyParts {
  readonly others: OtherNodes
  readonly enactor: Enactor
  readonly machine: Exclusive
}

/** An apply that took effect here and is undecided. */
interface Held {
  readonly header: RevisionHeader
  /** Absent if the daemon was restarted since: the journal has it. */
  readonly enacted?: Enacted
}

/**
 * A node's part in applies over all nodes: it answers the leader and follows the log. It looks at the store and not at
 * single entries, so that nothing is lost when the daemon ends, or when a checkpoint replaces entries.
 */
export class Participant {
  readonly #parts: ParticipantParts
  #held: Held | undefined
  /** The revision that this machine has, or is being taken to. */
  #followed: number
  /** The last revision that was reported to the daemon's own parts. */
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

  /** Answers the node that leads an apply. */
  answer({ ask, applyId }: RolloutQuestion): Promise<RolloutAnswer> {
    const answers = {
      prepare: () => this.#prepare(applyId),
      enact: () => this.#enact(applyId),
      goBack: () => this.#wentBack(applyId),
    } as const
    return said(answers[ask], this.#parts.log)
  }

  /** Called for each folded entry, whichever node wrote it. */
  folded(): void {
    this.#wake()
    if (this.#parts.store.revision > this.#told) this.tell().catch((error: unknown) => this.#failed(error))
    void this.settle()
  }

  /** Called each second: tries again what has failed, and checks whether the leader of an apply is gone. */
  async look(): Promise<void> {
    this.#wake()
    await this.#endAbandoned().catch((error: unknown) => this.#failed(error))
    await this.tell().catch((error: unknown) => this.#failed(error))
    await this.settle()
  }

  /**
   * Resolves when nothing is frozen. Refuses after a while: only the log can end an apply, and the log may be out of
   * reach.
   */
  async idle(): Promise<void> {
    const { store, others } = this.#parts
    await this.#until(() => store.underWay() === undefined)
    refuseUnderWay(store, others)
  }

  /** Notes an apply that was requested on this node: its leader reports the result. */
  lead(applyId: string): void {
    this.#ledId = applyId
  }

  /** Notes that this machine has the running configuration. */
  made(): void {
    this.#followed = this.#parts.store.revision
  }

  /** The revision that this machine has; smaller than the last revision while it follows. */
  get followed(): number {
    return this.#followed
  }

  /** Keeps what took effect here until the log has decided on it. */
  hold(header: RevisionHeader, enacted: Enacted): void {
    this.#held = { header, enacted }
    void this.settle()
  }

  /** Makes the machine match the log. `look` tries again what fails. */
  async settle(): Promise<void> {
    if (!this.#isBehind()) return
    try {
      await this.#parts.machine.run('maintenance', () => this.#settle())
    } catch (error) {
      this.#failed(error)
    }
  }

  /** Reports every revision to the parts of the daemon, each once and in order. */
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
    // The log may have decided meanwhile.
    void this.settle()
    return { ok: true, isDryRun: enacted.isDryRun, warnings: enacted.warnings }
  }

  async #wentBack(applyId: string): Promise<RolloutAnswer> {
    const { store, nodeId, machine } = this.#parts
    await this.#until(() => store.frozen(applyId) === undefined)
    // The enactment that was requested earlier may still be under way here.
    await machine.idle()
    await this.settle()
    if (store.journal() === undefined) return { ok: true, isDryRun: false, warnings: [] }
    const output = 'see the log of the node'
    const nodes = [{ nodeId, ok: false, step: 'restore the previous state', output }]
    throw new ApiError('APPLY_PARTIAL', 'The machine differs from the running configuration; this is retried', {
      data: { nodes },
    })
  }

  /** Returns what this node is asked to make running; refuses if the log has ended that apply. */
  #asked(applyId: string): NonNullable<Frozen['asked']> & Pick<Frozen, 'changes'> {
    const frozen = this.#parts.store.underWay()
    if (frozen?.applyId === applyId && frozen.asked !== undefined) return { ...frozen.asked, changes: frozen.changes }
    throw new ApiError('NODE_UNREACHABLE', 'The apply has ended, or is unknown to this node so far')
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
        // An apply on this node alone is no revision.
        if (!store.isAheadBy(applyId)) this.#followed = revision
      }
      if (decision === 'thawed') {
        if (held.enacted === undefined) await enactor.converge(() => false)
        else await held.enacted.takeBack('keep the apply of another node', 'it failed on that node')
      }
      this.#held = undefined
    }
    if (store.revision > this.#followed) await this.#follow()
  }

  /** Makes the machine follow what other nodes have applied without it. */
  async #follow(): Promise<void> {
    const { store, drivers, enactor, log, tell } = this.#parts
    const { revision } = store
    const missed = store.revisions(revision - this.#followed)
    const [header] = missed
    if (header === undefined) throw new Error(`revision ${revision} is not kept`)
    // Newest first, so that the oldest change of a record counts: this machine has the value before it.
    const before = missed.flatMap(({ changes }) => changes.map((change) => ({ ...change, after: change.before })))
    const running = configView(store.running)
    await prepare(drivers, running)
    if (store.journal() !== undefined) await enactor.converge(() => false)
    const moveOwn = await enactor.openReturn(running, header, before)
    const { ok } = await enactor.converge(() => false)
    await moveOwn()
    this.#followed = revision
    log.info('applied the changes of other nodes', { revision, ok })
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

  /** Ends an apply whose leader may be gone for good. Its promotion and the thaw exclude each other in the log. */
  async #endAbandoned(): Promise<void> {
    const { store, nodeId, others, machine, clock, log } = this.#parts
    const frozen = store.underWay()
    const leader = frozen?.asked?.nodeId
    // This node leads an apply within one call, so an apply that outlives its call is abandoned.
    const isLed = leader === nodeId ? machine.isCalled : leader === undefined || others.isLive(leader)
    if (frozen === undefined || isLed) {
      this.#away = undefined
      return
    }
    const { applyId } = frozen
    const now_ms = clock.monotonic_ms()
    if (this.#away?.applyId !== applyId) this.#away = { applyId, since_ms: now_ms }
    if (leader !== nodeId && now_ms - this.#away.since_ms < AWAY_MS_MAX) return
    log.warn('an apply is ended because its node is unreachable', { applyId, leader })
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
    this.#parts.log.error('this node could not apply the changes of other nodes yet; this is retried', {
      reason: String(error),
    })
  }
}
