import { type CheckedTable, DamagedRowError, type RowWrite, type Surveyed } from './checked-table.ts'
import type { Revision, RevisionHeader } from './config-store.ts'
import { padded } from './keys.ts'

export const REVISIONS_KEPT = 1000

/** A revision without its changes. */
export type CountedHeader = RevisionHeader & { readonly count: number }

/** Revisions, and their headers once more by themselves: a list of them must not read what thousands of records were. */
export class RevisionTable {
  readonly #revisions: CheckedTable<Revision>
  readonly #headers: CheckedTable<CountedHeader>
  readonly #kept: number

  constructor(revisions: CheckedTable<Revision>, headers: CheckedTable<CountedHeader>, kept = REVISIONS_KEPT) {
    this.#revisions = revisions
    this.#headers = headers
    this.#kept = kept
  }

  get tables(): readonly [CheckedTable<Revision>, CheckedTable<CountedHeader>] {
    return [this.#revisions, this.#headers]
  }

  /** Part of the caller's transaction. The oldest goes when there are too many. */
  put(revision: Revision): readonly RowWrite[] {
    const key = padded(revision.revision)
    const rows = [this.#revisions.put(key, revision), this.#headers.put(key, counted(revision))]
    const expired = padded(revision.revision - this.#kept)
    if (revision.revision <= this.#kept) return rows
    return [...rows, this.#revisions.remove(expired), this.#headers.remove(expired)]
  }

  /** Damaged ones are left out; `--check` names them. */
  list(limit: number, before: number | undefined): readonly Revision[] {
    return intact(this.#revisions.survey(newestFirst(limit, before)))
  }

  headers(limit: number, before: number | undefined): readonly CountedHeader[] {
    return intact(this.#headers.survey(newestFirst(limit, before)))
  }

  /** Newest first. */
  intact(): readonly Revision[] {
    return intact(this.#revisions.survey({ reverse: true }))
  }

  /** What becomes of damaged ones: a header comes back from its revision, a revision is lost with its header. */
  mended(): readonly { readonly rows: readonly RowWrite[]; readonly told: string }[] {
    const byKey = new Map([...this.#revisions.survey()].map((row) => [row.key, row] as const))
    const lost = [...byKey.values()].filter((row) => 'damaged' in row)
    const headers = [...this.#headers.survey()].filter((row) => 'damaged' in row)
    return [
      ...lost.map(({ key }) => ({
        rows: [this.#revisions.remove(key), this.#headers.remove(key)],
        told: `${new DamagedRowError(this.#revisions.name, key).message}: what it changed is not known any more`,
      })),
      ...headers.flatMap(({ key }) => {
        const row = byKey.get(key)
        if (row === undefined || !('value' in row)) return []
        const told = `${new DamagedRowError(this.#headers.name, key).message}: it was made again`
        return [{ rows: [this.#headers.put(key, counted(row.value))], told }]
      }),
    ]
  }

  /** Headers for revisions of a version that had none. */
  unlisted(): readonly RowWrite[] {
    const [oldest] = this.#headers.keys({ limit: 1 })
    const rows = this.#revisions.survey(oldest === undefined ? {} : { end: oldest })
    return intact(rows).map((revision) => this.#headers.put(padded(revision.revision), counted(revision)))
  }
}

function counted({ changes, ...header }: Revision): CountedHeader {
  return { ...header, count: changes.length }
}

function intact<V>(rows: Iterable<Surveyed<V, string>>): readonly V[] {
  return [...rows].flatMap((row) => ('value' in row ? [row.value] : []))
}

const newestFirst = (limit: number, before: number | undefined) => ({
  reverse: true,
  limit,
  ...(before === undefined ? {} : { start: padded(before), exclusiveStart: true }),
})
