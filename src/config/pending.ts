import type { Change, ConfigStore } from '../../storage/config/config-store.ts'
import type { Pending, PendingChange, PendingReader, PlanPreview } from '../context/staging.ts'
import type { Clock } from '../base/clock.ts'
import { KeptAnswer } from '../base/kept-answer.ts'
import type { Driver } from '../drivers/driver.ts'
import type { ConfigView, SectionName } from '../model/sections.ts'
import { warningsOf } from '../warnings/warnings.ts'
import { effectOf, previewOf } from './preview.ts'
import type { OtherNodes } from './rollout/other-nodes.ts'
import { shownChange } from './shown-change.ts'
import { onOneRevision, prepare } from './turns.ts'
import { inTurns } from '../base/turns.ts'
import { configView, frozenView, recordChange } from './views.ts'
import { isAgreed } from '../../storage/config/ahead.ts'

export class PendingChanges {
  readonly #store: ConfigStore
  readonly #drivers: readonly Driver[]
  readonly #nodeIds: () => readonly string[]
  readonly #now_ms: () => number

  /** `nodeIds` returns the ids of all nodes. */
  constructor(
    store: ConfigStore,
    drivers: readonly Driver[],
    nodeIds: () => readonly string[],
    now_ms: () => number = Date.now,
  ) {
    this.#store = store
    this.#drivers = drivers
    this.#nodeIds = nodeIds
    this.#now_ms = now_ms
  }

  list(): Promise<Pending> {
    return this.#review((running, desired, pending) => this.#listOf(running, desired, pending))
  }

  async #listOf(running: ConfigView, desired: ConfigView, pending: readonly Change[]): Promise<Pending> {
    const changes: PendingChange[] = []
    // `runningOn` assembles what another node runs on every call, so it is called once per node.
    const nodes = this.#nodeIds().map((id) => ({ id, runs: this.#store.runningOn(id) }))
    const pendingOn = (change: Change) => nodes.filter(({ runs }) => !isAgreed(runs, change)).map(({ id }) => id)
    await inTurns(pending, (change) =>
      changes.push({ ...this.#show(change, running, desired), pendingOn: pendingOn(change) }),
    )
    const warnings = await warningsOf(running, desired, pending.map(recordChange), this.#now_ms())
    return { revision: this.#store.revision, changes, warnings }
  }

  /** All that `work` reads is of one moment, although it takes turns with other work. */
  #review<T>(work: (running: ConfigView, desired: ConfigView, pending: readonly Change[]) => Promise<T>): Promise<T> {
    const { running } = this.#store
    return onOneRevision(this.#store, async () => {
      const pending = this.#store.changes()
      const desired = frozenView(running, pending)
      await prepare(this.#drivers, desired)
      return work(configView(running), desired, pending)
    })
  }

  changedIds(section: SectionName): readonly string[] {
    return this.#store
      .changes()
      .filter((change) => change.section === section)
      .map((change) => change.key)
  }

  /** Lists the changes together with what an apply would write and do, without touching anything. */
  preview(): Promise<PlanPreview> {
    return this.#review(async (running, desired, pending) => {
      const listed = await this.#listOf(running, desired, pending)
      return { ...listed, ...(await previewOf(this.#drivers, running, desired)) }
    })
  }

  #show(stored: Change, running: ConfigView, candidate: ConfigView): Omit<PendingChange, 'pendingOn'> {
    const change = recordChange(stored)
    const { before, after, ...what } = shownChange(change)
    return {
      id: stored.id,
      ...what,
      by: stored.actor,
      alsoBy: [...(stored.others ?? [])],
      at: stored.at,
      before,
      after,
      ...effectOf(this.#drivers, change, running, candidate),
    }
  }
}

interface PendingParts {
  readonly store: ConfigStore
  readonly born: string
  readonly membership: { readonly others: Pick<OtherNodes, 'members'> | undefined }
  readonly drivers: readonly Driver[]
  readonly clock: Clock
  readonly engine: { validate(): Promise<void> }
}

/** How long computed warnings are kept for callers that only glance at them. */
const WARNINGS_MS = 10_000

/** Returns the operations on pending changes that the API offers. */
export function createPending({ store, born, membership, drivers, clock, engine }: PendingParts): PendingReader {
  const nodeIds = () => [born, ...(membership.others?.members() ?? []).map(({ id }) => id)]
  const pending = new PendingChanges(store, drivers, nodeIds, () => clock.now_ms())
  const ask = async () => (await pending.list()).warnings
  const warnings = new KeptAnswer({ ask, kept_ms: WARNINGS_MS, clock })
  return {
    list: () => pending.list(),
    count(by) {
      const changes = store.changes()
      const changedAt = changes.reduce<string | null>((last, { at }) => (last === null || at > last ? at : last), null)
      return { count: changes.length, mine: changes.filter(({ actor }) => actor === by).length, changedAt }
    },
    warnings() {
      const changes = store.changes()
      return warnings.get(`${store.revision} ${changes.length} ${changes.at(-1)?.at}`)
    },
    changedIds: (section) => pending.changedIds(section),
    preview: () => pending.preview(),
    async validate() {
      await engine.validate()
      return pending.list()
    },
  }
}
