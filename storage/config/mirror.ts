import { isDeepStrictEqual } from 'node:util'
import type { Again, Change, RecordKey, RecordReader, StoredRecord } from './config-store.ts'
import { mergeSorted, SortedRecords } from './sorted-records.ts'
import type { OverlayEntry, RunningRow, StoreState } from './store-state.ts'

interface RunningEntry {
  readonly key: string
  readonly stored: StoredRecord
}

/** By section and scope, each by its own name: a key made of them all would be made anew for every look-up. */
type Sections<T extends { readonly key: string }> = Map<string, Map<string, SortedRecords<T>>>

/** Running and the candidate overlay in memory: the synchronous side of the store. */
export class Mirror {
  readonly #running: Sections<RunningEntry> = new Map()
  readonly #overlay: Sections<OverlayEntry> = new Map()

  readonly running: RecordReader = {
    get: (section, scope, key) => this.#running.get(section)?.get(scope)?.byKey.get(key)?.stored,
    list: (section, scope) => this.#runningList(section, scope).map(({ stored }) => stored),
  }

  readonly candidate: RecordReader = {
    get: (section, scope, key) => {
      const entry = this.#overlay.get(section)?.get(scope)?.byKey.get(key)
      return entry === undefined ? this.running.get(section, scope, key) : entry.stored
    },
    list: (section, scope) => {
      const overlay = this.#overlay.get(section)?.get(scope)?.list() ?? []
      const changes = new Map(overlay.map(({ key, stored }) => [key, stored === undefined ? stored : { key, stored }]))
      return mergeSorted(this.#runningList(section, scope), ({ key }) => key, changes).map(({ stored }) => stored)
    },
  }

  #runningList(section: string, scope: string): readonly RunningEntry[] {
    return this.#running.get(section)?.get(scope)?.list() ?? []
  }

  overlayEntry({ section, scope, key }: RecordKey): OverlayEntry | undefined {
    return this.#overlay.get(section)?.get(scope)?.byKey.get(key)
  }

  /** Forgets everything, and holds these. */
  load({ running, candidate }: Pick<StoreState, 'running' | 'candidate'>): void {
    this.#running.clear()
    this.#overlay.clear()
    for (const row of running) this.setRunning(row, row.stored)
    for (const entry of candidate) this.setOverlay(entry, entry)
  }

  /** Everything, in no certain order. */
  rows(): Pick<StoreState, 'running' | 'candidate'> {
    const running: RunningRow[] = []
    for (const [section, scopes] of this.#running)
      for (const [scope, records] of scopes)
        for (const { key, stored } of records.byKey.values()) running.push({ section, scope, key, stored })
    return { running, candidate: this.#overlayEntries() }
  }

  #overlayEntries(): OverlayEntry[] {
    return [...this.#overlay.values()].flatMap((scopes) =>
      [...scopes.values()].flatMap((records) => [...records.byKey.values()]),
    )
  }

  setRunning(key: RecordKey, stored: StoredRecord | undefined): void {
    set(this.#running, key, stored === undefined ? undefined : { key: key.key, stored })
  }

  setOverlay(key: RecordKey, entry: OverlayEntry | undefined): void {
    set(this.#overlay, key, entry)
  }

  /** True when nothing was staged over the frozen change since it was frozen (or what was staged equals it). */
  settles(change: Change): boolean {
    const entry = this.overlayEntry(change)
    return entry === undefined || isDeepStrictEqual(entry.stored?.value, change.after?.value)
  }

  /**
   * What a promotion does to the overlay: what is settled goes, what is taken back comes again unless something was
   * staged over it.
   */
  afterPromotion(
    promoted: readonly Change[],
    again: readonly Again[],
    nextRevision: () => number,
  ): readonly (readonly [RecordKey, OverlayEntry | undefined])[] {
    const settled = promoted.filter((change) => this.settles(change))
    const free = again.filter((change) => this.overlayEntry(change) === undefined)
    const coming = free.map(({ value, ...change }): readonly [RecordKey, OverlayEntry] => {
      const revision = nextRevision()
      return [change, { ...change, revision, stored: value === undefined ? undefined : { value, revision } }]
    })
    return [...settled.map((change) => [change, undefined] as const), ...coming]
  }

  changes(): readonly Change[] {
    const all = this.#overlayEntries()
    all.sort((a, b) => a.revision - b.revision)
    return all.map((entry) => ({
      id: entry.changeId,
      revision: entry.revision,
      section: entry.section,
      scope: entry.scope,
      key: entry.key,
      actor: entry.actor,
      ...(entry.others && { others: entry.others }),
      endpoint: entry.endpoint,
      at: entry.at,
      before: this.running.get(entry.section, entry.scope, entry.key),
      after: entry.stored,
    }))
  }
}

/** Running holds already what the change would make of the record. */
export const changesNothing = ({ before, after }: Change) => isDeepStrictEqual(before?.value, after?.value)

function set<T extends { readonly key: string }>(sections: Sections<T>, key: RecordKey, record: T | undefined): void {
  let scopes = sections.get(key.section)
  if (scopes === undefined) sections.set(key.section, (scopes = new Map()))
  let records = scopes.get(key.scope)
  if (records === undefined) scopes.set(key.scope, (records = new SortedRecords()))
  records.set(key.key, record)
}
