import { createHash } from 'node:crypto'
import type { Change, ConfigStore } from '../../storage/config/config-store.ts'
import type { Applied, ApplyOptions } from '../context/applying.ts'
import type { Asking } from '../context/asking.ts'
import type { Plan, PlannedEdits, PlansActor } from '../context/plans.ts'
import { canonical } from '../base/canonical.ts'
import type { Clock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import { IDS, newId } from '../base/ids.ts'
import { inTurns } from '../base/turns.ts'
import type { Driver } from '../drivers/driver.ts'
import type { RecordChange } from '../model/sections.ts'
import { warningsOf } from '../warnings/warnings.ts'
import type { ApplyEngine } from './apply.ts'
import { editedChanges } from './chosen-changes.ts'
import { Draft } from './draft.ts'
import { type Editing, originOf } from './editing.ts'
import type { May } from './needed-rights.ts'
import { effectOf, previewOf } from './preview.ts'
import { namedChange, shownChange } from './shown-change.ts'
import type { TransactionWrite } from './transactions.ts'
import { onOneRevision, prepare } from './turns.ts'
import { configView, frozenView, recordChange } from './views.ts'

/** How long a plan can be applied. */
const KEPT_MS = 15 * 60_000
const PLANS_MAX = 32
/** Records of all plans together. */
const RECORDS_MAX = 100_000

interface Parts {
  readonly store: ConfigStore
  readonly editing: Pick<Editing, 'between' | 'checked'>
  readonly engine: Pick<ApplyEngine, 'applyUnstaged' | 'validate'>
  readonly drivers: readonly Driver[]
  readonly clock: Clock
}

/** The part of a plan that an apply needs. */
interface Kept {
  readonly baseRevision: number
  readonly writes: readonly TransactionWrite[]
  readonly until_ms: number
}

type Judging = Pick<Asking, 'actor' | 'may'>

const mayOf =
  (asking: Judging): May =>
  (endpoint, touched) =>
    asking.may(endpoint, touched)

/** Plans: edits that are checked and described like pending changes, and applied all or none. */
export class Plans implements PlansActor {
  readonly #parts: Parts
  readonly #kept = new Map<string, Kept>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  make(edit: (edits: PlannedEdits) => Promise<void>, asking: Asking): Promise<Plan> {
    return onOneRevision(this.#parts.store, () => this.#make(edit, asking))
  }

  async #make(edit: (edits: PlannedEdits) => Promise<void>, asking: Asking): Promise<Plan> {
    const { store, editing, engine, clock } = this.#parts
    const { revision: baseRevision } = store
    // Runs between edits, so that all of it starts from one candidate; nothing is written.
    const { writes, changes } = await editing.between(async () => {
      const draft = new Draft(store)
      await edit({ section: (name) => draft.section(name) })
      const made = draft.transactionWrites
      try {
        return { result: { writes: made, changes: this.#changesOf(made, asking) } }
      } catch (error) {
        throw toldByName(error, draft.made)
      }
    })
    if (changes.length > 0)
      await engine
        .validate(() => changes)
        .catch((error: unknown) => {
          throw toldByName(error, changes.map(recordChange))
        })
    const told = await this.#told(changes)
    const digest = await digestOf(changes)
    const until_ms = clock.now_ms() + KEPT_MS
    const planId = newId()
    this.#keep(planId, { baseRevision, writes, until_ms })
    return { planId, baseRevision, digest, expiresAt: new Date(until_ms).toISOString(), ...told }
  }

  async apply(
    planId: string,
    options: Pick<ApplyOptions, 'comment' | 'confirmWithin' | 'isForced' | 'refuseWarnings'>,
    asking: Asking,
  ): Promise<Applied> {
    const { store, engine } = this.#parts
    this.#forgetOld()
    const kept = this.#kept.get(planId)
    if (kept === undefined) {
      const message = `There is no plan ${planId} on this node: plans last 15 minutes and do not survive a restart of the daemon; create it again`
      throw new ApiError('NOT_FOUND', message)
    }
    const { actor, client } = asking
    const caller = { by: actor.email, address: client.address, may: mayOf(asking) }
    const changes = () => {
      if (store.revision === kept.baseRevision) return this.#changesOf(kept.writes, asking)
      const message = `Revision ${store.revision} is running now, but the plan was made for ${kept.baseRevision}: create it again and review it`
      throw new ApiError('REVISION_MISMATCH', message, { data: { revision: store.revision } })
    }
    const applied = await engine.applyUnstaged(changes, { force: undefined, ...options }, caller)
    this.#kept.delete(planId)
    return applied
  }

  /** Returns the edits as changes to running; refuses if a record has changed since, or if the author lacks a right. */
  #changesOf(writes: readonly TransactionWrite[], asking: Judging): readonly Change[] {
    const { store, editing, clock } = this.#parts
    const origin = originOf(asking.actor.email, 'config.applyPlan', clock)
    const checked = editing.checked(writes, origin, mayOf(asking))
    return editedChanges(store, checked, origin)
  }

  async #told(changes: readonly Change[]): Promise<Pick<Plan, 'changes' | 'warnings' | 'files' | 'steps'>> {
    const { store, drivers, clock } = this.#parts
    const [running, desired] = [configView(store.running), frozenView(store.running, changes)]
    await prepare(drivers, desired)
    const shown: Plan['changes'][number][] = []
    await inTurns(changes.map(recordChange), (change) =>
      shown.push({ ...shownChange(change), ...effectOf(drivers, change, running, desired) }),
    )
    const warnings = await warningsOf(running, desired, changes.map(recordChange), clock.now_ms())
    return { changes: shown, warnings, ...(await previewOf(drivers, running, desired)) }
  }

  #keep(planId: string, plan: Kept): void {
    this.#forgetOld()
    this.#kept.set(planId, plan)
    let records = 0
    for (const [id, { writes }] of [...this.#kept].toReversed()) {
      records += writes.length
      if (id !== planId && records > RECORDS_MAX) this.#kept.delete(id)
    }
    for (const id of this.#kept.keys()) if (this.#kept.size > PLANS_MAX) this.#kept.delete(id)
  }

  #forgetOld(): void {
    const now_ms = this.#parts.clock.now_ms()
    for (const [id, { until_ms }] of this.#kept) if (until_ms <= now_ms) this.#kept.delete(id)
  }
}

/** Ids of records that were never created mean nothing to the reader: problems name the records instead. */
function toldByName(error: unknown, changes: readonly RecordChange[]): unknown {
  if (!(error instanceof ApiError)) return error
  const names = new Map(changes.map((change) => [change.id, namedChange(change).name]))
  const errors = error.details.errors?.map((one) => {
    const [section, id, ...inside] = one.field.split('.')
    return id === undefined ? one : { ...one, field: [section, names.get(id) ?? id, ...inside].join('.') }
  })
  return new ApiError(error.code, error.message, { ...error.details, ...(errors && { errors }) })
}

/** Ids of records to be created differ each time, so the digest uses their kind and name instead. */
async function digestOf(changes: readonly Change[]): Promise<string> {
  const made = new Map<string, string>()
  const told: { readonly place: string; readonly change: object }[] = []
  await inTurns(changes, (stored) => {
    const { op, resource, resourceId, name } = namedChange(recordChange(stored))
    if (op === 'create') made.set(resourceId, `new ${resource} ${name}`)
    const [before, after] = [stored.before?.value ?? null, stored.after?.value ?? null]
    told.push({ place: `${resource}\0${name}`, change: { op, resource, resourceId, name, before, after } })
  })
  const digest = createHash('sha256')
  const inOrder = told.toSorted((a, b) => (a.place < b.place ? -1 : 1))
  await inTurns(inOrder.entries(), ([at, { change }]) => {
    const text = canonical(change).replace(IDS, (id) => made.get(id) ?? id)
    digest.update(`${at === 0 ? '[' : ','}${text}`)
  })
  return digest.update(inOrder.length === 0 ? '[]' : ']').digest('hex')
}
