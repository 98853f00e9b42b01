import { isDeepStrictEqual } from 'node:util'
import type { Change, Put, RecordKey, RecordReader, RowChanges } from './config-store.ts'
import { encode } from './keys.ts'
import { type Sections, setIn } from './sorted-records.ts'
import type { OverlayEntry } from './store-state.ts'

/** The records of one node that differ from the others': a row of the table `ahead`, under the node's id. */
interface AheadRow {
  /** The node's last apply of its own. */
  readonly applyId: string
  readonly entries: readonly OverlayEntry[]
}

const nameOf = (key: RecordKey): string => JSON.stringify(encode(key))

/** Running records of nodes beyond what all agree on, each from an apply on one node. */
export class Ahead {
  readonly #rows = new Map<string, AheadRow>()
  #hereId: string | undefined
  #here: Sections<OverlayEntry> = new Map()
  #version = 0

  /** Sets which node this is. */
  at(nodeId: string | undefined): void {
    this.#hereId = nodeId
    this.#here = sectionsOf(this.of(nodeId))
  }

  /** Increases with every change, of any node. */
  get version(): number {
    return this.#version
  }

  /** The records by which this node is ahead. */
  get here(): Sections<OverlayEntry> {
    return this.#here
  }

  of(nodeId: string | undefined): readonly OverlayEntry[] {
    return (nodeId === undefined ? undefined : this.#rows.get(nodeId))?.entries ?? []
  }

  sectionsOf(nodeId: string): Sections<OverlayEntry> {
    return nodeId === this.#hereId ? this.#here : sectionsOf(this.of(nodeId))
  }

  /** Returns every record by which some node is ahead; if several are, the first node's. */
  all(): readonly OverlayEntry[] {
    const found = new Map<string, OverlayEntry>()
    for (const { entries } of this.#rows.values())
      for (const entry of entries) if (!found.has(nameOf(entry))) found.set(nameOf(entry), entry)
    return [...found.values()]
  }

  /** Whether this was the last apply of some node alone. */
  has(applyId: string): boolean {
    return [...this.#rows.values()].some((row) => row.applyId === applyId)
  }

  /** Applies changes of the table `ahead`. */
  take({ puts, removed }: RowChanges): void {
    for (const key of removed) this.#rows.delete(key)
    // Sound: written by the fold only.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    for (const { key, value } of puts) this.#rows.set(key, value as AheadRow)
    this.#version += 1
    this.at(this.#hereId)
  }

  /** Returns a node's row after an apply on it alone: records that equal the agreed ones no longer differ. */
  afterOne(nodeId: string, applyId: string, changes: readonly Change[], agreed: RecordReader): RowChanges {
    const changed = new Set(changes.map(nameOf))
    const kept = this.of(nodeId).filter((entry) => !changed.has(nameOf(entry)))
    const made = changes
      .filter((change) => !isAgreed(agreed, change))
      .map((change): OverlayEntry => {
        const { id: changeId, after: stored, before: _before, ...rest } = change
        return { ...rest, changeId, stored }
      })
    const row: AheadRow = { applyId, entries: [...kept, ...made] }
    return { puts: [{ key: nodeId, value: row }], removed: [] }
  }

  /** Returns the rows after an apply on all nodes: no node is ahead in the changed records. */
  afterAll(changes: readonly RecordKey[]): RowChanges {
    const changed = new Set(this.#rows.size === 0 ? [] : changes.map(nameOf))
    const puts = [...this.#rows].flatMap(([key, row]): Put[] => {
      const entries = row.entries.filter((entry) => !changed.has(nameOf(entry)))
      return entries.length === row.entries.length ? [] : [{ key, value: { ...row, entries } }]
    })
    return { puts, removed: [] }
  }
}

/**
 * Whether the agreed configuration already has the outcome of a change, which then only takes something back where a
 * node is ahead.
 */
export const isAgreed = (agreed: RecordReader, change: Pick<Change, keyof RecordKey | 'after'>): boolean =>
  isDeepStrictEqual(agreedOn(agreed, change), change.after?.value)

const agreedOn = (agreed: RecordReader, { section, scope, key }: RecordKey) => agreed.get(section, scope, key)?.value

function sectionsOf(entries: readonly OverlayEntry[]): Sections<OverlayEntry> {
  const sections: Sections<OverlayEntry> = new Map()
  for (const entry of entries) setIn(sections, entry, entry)
  return sections
}
