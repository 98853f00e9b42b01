import { Type } from 'typebox'
import { validatorOf } from '../base/validator.ts'
import type { ConfigStore } from '../../storage/config/config-store.ts'
import type {
  Applied,
  ApplyActor,
  AppliedHere,
  ApplyOptions,
  ApplyState,
  NodeApplied,
  WentLive,
} from '../context/applying.ts'
import type { Asking } from '../context/asking.ts'
import type { Clock } from '../base/clock.ts'
import { KeptAnswer } from '../base/kept-answer.ts'
import type { Caller } from './apply-parts.ts'
import { applyFailed } from './apply-refusals.ts'
import type { ApplyEngine } from './apply.ts'
import { editedChanges } from './chosen-changes.ts'
import { type Editing, originOf } from './editing.ts'
import type { Transactions } from './transactions.ts'

interface Parts {
  readonly engine: Pick<ApplyEngine, 'apply' | 'applyUnstaged' | 'confirm' | 'here' | 'revertNow' | 'state'>
  readonly transactions: Transactions
  readonly editing: Pick<Editing, 'checked'>
  readonly store: ConfigStore
  readonly clock: Clock
  readonly nodeId: string
  /** Resolves with the report of each other node; undefined for one that does not answer. */
  readonly askOthers: () => Promise<ReadonlyMap<string, AppliedHere | undefined>>
  /** Set if the daemon only observes its HAProxy. */
  readonly observed: { refuse(): never } | undefined
}

const HERE = Type.Object({ state: Type.Enum(['idle', 'applying', 'waiting']), revision: Type.Integer() })
/** Returns whether another node's answer is an `AppliedHere`. */
export const isAppliedHere = (answer: unknown): answer is AppliedHere => validatorOf(HERE).Check(answer)

/** Long enough that many pollers cost no more than one, and short enough that no node appears to lag behind. */
const OTHERS_KEPT_MS = 250

/** The operations on applies that the API offers. */
export class Applying implements ApplyActor {
  readonly #parts: Parts
  readonly #others: KeptAnswer<ReadonlyMap<string, AppliedHere | undefined>>

  constructor(parts: Parts) {
    this.#parts = parts
    this.#others = new KeptAnswer({ ask: parts.askOthers, kept_ms: OTHERS_KEPT_MS, clock: parts.clock })
  }

  get state(): ApplyState {
    return this.#parts.engine.state
  }

  async nodes(): Promise<readonly NodeApplied[]> {
    const { engine, nodeId } = this.#parts
    const before = engine.state
    const others = await this.#others.get(`${before.state} ${before.revision}`)
    const { state, revision } = engine.state
    const last = state === 'applying' ? revision - 1 : revision
    return [[nodeId, engine.here] as const, ...others].map(([id, here]) =>
      here === undefined
        ? { nodeId: id, state: 'unknown', revision: null, outcome: 'unknown' }
        : { nodeId: id, ...here, outcome: here.revision < last ? 'missed' : 'applied' },
    )
  }

  async apply(options: ApplyOptions, asking: Asking): Promise<Applied> {
    const { transactionId: id, force } = options
    // An observing daemon still applies users and roles, but a forced restart would mean HAProxy.
    if (force !== undefined) this.#parts.observed?.refuse()
    return id === undefined
      ? this.#parts.engine.apply(options, callerOf(asking))
      : this.#transaction(id, options, asking)
  }

  confirm(asking: Asking): Promise<{ readonly revision: number }> {
    return this.#parts.engine.confirm(callerOf(asking))
  }

  /**
   * If part of the machine could not follow, this is not answered as success, although running is the old configuration
   * again.
   */
  async revert(asking: Asking): Promise<WentLive> {
    const { live, failed } = await this.#parts.engine.revertNow(callerOf(asking))
    if (failed === undefined) return live
    const title = `It is reverted as revision ${live.revision}, but the change could not be made on the machine yet; this is retried every ten seconds`
    throw applyFailed({ ...failed, nodeId: this.#parts.nodeId, title })
  }

  /**
   * Makes the edits of a transaction running without staging them, so that a refusal leaves the transaction as it was.
   */
  #transaction(id: string, options: ApplyOptions, asking: Asking): Promise<Applied> {
    const { actor } = asking
    const { engine, transactions, editing, store, clock } = this.#parts
    const origin = originOf(actor.email, 'services.apply', clock)
    const caller = callerOf(asking)
    return transactions.spent(id, actor, (edits) => {
      const changes = () => editedChanges(store, editing.checked(edits(), origin, caller.may), origin)
      return engine.applyUnstaged(changes, options, caller)
    })
  }
}

function callerOf(asking: Asking): Required<Caller> {
  return {
    by: asking.actor.email,
    address: asking.client.address,
    may: (endpoint, touched) => asking.may(endpoint, touched),
  }
}
