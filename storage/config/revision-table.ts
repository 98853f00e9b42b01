import { type CheckedTable, DamagedRowError, type RowWrite, type Surveyed } from './checked-table.ts'
import type { Revision, RevisionHeader } from './config-store.ts'
import { padRevision } from './keys.ts'

/**
 * The newest `kept` revisions stay whatever their age, others while they are younger than `ms`, and never more than
 * `kept_max`.
 */
export interface RevisionRetention {
  readonly kept: number
  readonly ms: number
  readonly kept_max: number
}
const RETENTION: RevisionRetention = { kept: 1_000, ms: 90 * 86_400_000, kept_max: 20_000 }
/** More than one, so that a backlog shrinks, and few enough for every apply. */
const EXPIRED_AT_ONCE = 4

/** A revision without its changes. */
export type CountedHeader = RevisionHeader & { readonly count: number }

/** Revisions, and a table of their headers alone: a list of them must not read thousands of old records. */
export class RevisionTable {
  readonly #revisions: CheckedTable<Revision>
  readonly #headers: CheckedTable<CountedHeader>
  readonly #retention: RevisionRetention

  constructor(revisions: CheckedTable<Revision>, headers: CheckedTable<CountedHeader>, retention = RETENTION) {
    this.#revisions = revisions
    this.#headers = headers
    this.#retention = retention
  }

  get tables(): readonly [CheckedTable<Revision>, CheckedTable<CountedHeader>] {
    return [this.#revisions, this.#headers]
  }

  /** Number of the oldest revision; undefined when there is none. */
  get oldest(): number | undefined {
    const [key] = this.#headers.keys({ limit: 1 })
    return key === undefined ? undefined : Number(key)
  }

  /** Writes a revision, and removes those that are too old or too many. */
  put(revision: Revision): readonly RowWrite[] {
    const key = padRevision(revision.revision)
    return [
      this.#revisions.put(key, revision),
      this.#headers.put(key, counted(revision)),
      ...this.#expired(revision).flatMap((old) => [this.#revisions.remove(old), this.#headers.remove(old)]),
    ]
  }

  /** Returns the writes after which these are the only revisions. */
  replaced(revisions: readonly Revision[]): readonly RowWrite[] {
    const [kept, headers] = [this.#revisions, this.#headers]
    return [
      ...[...kept.keys()].map((key) => kept.remove(key)),
      ...[...headers.keys()].map((key) => headers.remove(key)),
      ...revisions.flatMap((revision) => {
        const key = padRevision(revision.revision)
        return [kept.put(key, revision), headers.put(key, counted(revision))]
      }),
    ]
  }

  #expired({ revision, at }: RevisionHeader): readonly string[] {
    const { kept, ms, kept_max } = this.#retention
    const expired: string[] = []
    for (const row of this.#headers.survey({ limit: EXPIRED_AT_ONCE })) {
      const count = revision - Number(row.key) + 1
      const isYoung = 'value' in row && Date.parse(at) - Date.parse(row.value.at) < ms
      if (count <= kept || (isYoung && count <= kept_max)) break
      expired.push(row.key)
    }
    return expired
  }

  /** Damaged revisions are left out; `--check` names them. */
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

  /** Repairs damaged rows: a header is restored from its revision, a revision is lost with its header. */
  mended(): readonly { readonly rows: readonly RowWrite[]; readonly told: string }[] {
    const byKey = new Map([...this.#revisions.survey()].map((row) => [row.key, row] as const))
    const lost = [...byKey.values()].filter((row) => 'damaged' in row)
    const headers = [...this.#headers.survey()].filter((row) => 'damaged' in row)
    return [
      ...lost.map(({ key }) => ({
        rows: [this.#revisions.remove(key), this.#headers.remove(key)],
        told: `${new DamagedRowError(this.#revisions.name, key).message}: its changes are no longer known`,
      })),
      ...headers.flatMap(({ key }) => {
        const row = byKey.get(key)
        if (row === undefined || !('value' in row)) return []
        const told = `${new DamagedRowError(this.#headers.name, key).message}: it was recreated`
        return [{ rows: [this.#headers.put(key, counted(row.value))], told }]
      }),
    ]
  }

  /** Returns headers for revisions of a version that had none. */
  unlisted(): readonly RowWrite[] {
    const [oldest] = this.#headers.keys({ limit: 1 })
    const rows = this.#revisions.survey(oldest === undefined ? {} : { end: oldest })
    return intact(rows).map((revision) => this.#headers.put(padRevision(revision.revision), counted(revision)))
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
  ...(before === undefined ? {} : { start: padRevision(before), exclusiveStart: true }),
})
