import { isDeepStrictEqual } from 'node:util'
import type { Again, Change, RecordKey, RecordReader, StoredRecord, TellRecord } from './config-store.ts'
import { Ahead } from './ahead.ts'
import { mergeSorted, type Sections, setIn } from './sorted-records.ts'
import type { OverlayEntry, RunningRow, StoreState } from './store-state.ts'

interface RunningEntry {
  readonly key: string
  readonly stored: StoredRecord
}

/** Running and the candidate overlay in memory, for synchronous reads. */
export class Mirror {
  readonly #running: Sections<RunningEntry> = new Map()
  readonly #overlay: Sections<OverlayEntry> = new Map()
  readonly ahead = new Ahead()
  readonly #followers: TellRecord[] = []

  /** The configuration that runs on every node that is not ahead of the others. */
  readonly agreed: RecordReader = {
    get: (section, scope, key) => this.#running.get(section)?.get(scope)?.byKey.get(key)?.stored,
    list: (section, scope) => storedIn(this.#runningList(section, scope)),
  }

  /** The configuration that runs on this node. */
  readonly running = this.#overlaid(() => this.ahead.here)
  readonly candidate = this.#overlaid(() => this.#overlay)

  runningOn(nodeId: string): RecordReader {
    const sections = this.ahead.sectionsOf(nodeId)
    return this.#overlaid(() => sections)
  }

  /** Returns a reader of the agreed configuration with some records replaced. */
  #overlaid(over: () => Sections<OverlayEntry>): RecordReader {
    return {
      get: (section, scope, key) => {
        const entry = over().get(section)?.get(scope)?.byKey.get(key)
        return entry === undefined ? this.agreed.get(section, scope, key) : entry.stored
      },
      list: (section, scope) => {
        const overlay = over().get(section)?.get(scope)?.list() ?? []
        if (overlay.length === 0) return this.agreed.list(section, scope)
        const changes = new Map(
          overlay.map(({ key, stored }) => [key, stored === undefined ? stored : { key, stored }]),
        )
        return mergeSorted(this.#runningList(section, scope), ({ key }) => key, changes).map(({ stored }) => stored)
      },
    }
  }

  #runningList(section: string, scope: string): readonly RunningEntry[] {
    return this.#running.get(section)?.get(scope)?.list() ?? NO_ENTRIES
  }

  overlayEntry({ section, scope, key }: RecordKey): OverlayEntry | undefined {
    return this.#overlay.get(section)?.get(scope)?.byKey.get(key)
  }

  /** Replaces the whole contents. */
  load({ running, candidate }: Pick<StoreState, 'running' | 'candidate'>): void {
    this.#running.clear()
    this.#overlay.clear()
    for (const row of running) this.#setRunning(row, row.stored)
    for (const entry of candidate) this.setOverlay(entry, entry)
    this.#tell(undefined)
  }

  follow(tell: TellRecord): void {
    this.#followers.push(tell)
  }

  #tell(key: RecordKey | undefined): void {
    for (const tell of this.#followers) tell(key)
  }

  /** Returns all records, in no particular order. */
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
    this.#setRunning(key, stored)
    this.#tell(key)
  }

  #setRunning(key: RecordKey, stored: StoredRecord | undefined): void {
    setIn(this.#running, key, stored === undefined ? undefined : { key: key.key, stored })
  }

  setOverlay(key: RecordKey, entry: OverlayEntry | undefined): void {
    setIn(this.#overlay, key, entry)
  }

  /** Whether nothing was staged over the frozen change since (or what was staged equals it). */
  settles(change: Change): boolean {
    const entry = this.overlayEntry(change)
    return entry === undefined || isDeepStrictEqual(entry.stored?.value, change.after?.value)
  }

  /**
   * Returns the changes of the overlay after a promotion: settled changes are removed, and changes taken back become
   * pending again unless something was staged over them.
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

  staged(): readonly Change[] {
    return inOrder(this.#overlayEntries()).map((entry) => ({
      ...changeOf(entry),
      before: this.agreed.get(entry.section, entry.scope, entry.key),
      after: entry.stored,
    }))
  }

  /** Returns the removals of changes that were staged over frozen ones and no longer change anything. */
  dropped(): readonly (readonly [RecordKey, undefined])[] {
    return this.staged()
      .filter(changesNothing)
      .map((change) => [change, undefined])
  }

  /** Number of `changes()`. */
  get changeCount(): number {
    let count = this.#unstaged().length
    for (const scopes of this.#overlay.values()) for (const records of scopes.values()) count += records.byKey.size
    return count
  }

  #unstaged(): readonly OverlayEntry[] {
    return this.ahead.all().filter((entry) => this.overlayEntry(entry) === undefined)
  }

  changes(): readonly Change[] {
    const takenBack = inOrder([...this.#unstaged()]).map((entry) => ({
      ...changeOf(entry),
      before: entry.stored,
      after: this.agreed.get(entry.section, entry.scope, entry.key),
    }))
    return [...this.staged(), ...takenBack]
  }
}

const NO_ENTRIES: readonly RunningEntry[] = []

/**
 * Returns the same list while nothing in it changes, so that code which has examined all of it need not do so again.
 */
const storedByList = new WeakMap<readonly RunningEntry[], readonly StoredRecord[]>()

function storedIn(list: readonly RunningEntry[]): readonly StoredRecord[] {
  let stored = storedByList.get(list)
  if (stored === undefined) storedByList.set(list, (stored = list.map((entry) => entry.stored)))
  return stored
}

function inOrder(entries: OverlayEntry[]): readonly OverlayEntry[] {
  return entries.sort((a, b) => a.revision - b.revision)
}

function changeOf(entry: OverlayEntry): Omit<Change, 'before' | 'after'> {
  const { changeId, revision, section, scope, key, actor, others, endpoint, at } = entry
  return { id: changeId, revision, section, scope, key, actor, ...(others && { others }), endpoint, at }
}

/** Whether running already has the value that the change would set. */
export const changesNothing = ({ before, after }: Change) => isDeepStrictEqual(before?.value, after?.value)
