import type { Database } from 'lmdb'
import type { Revision, RevisionHeader } from './config-store.ts'
import { padded } from './keys.ts'
import { queued } from './queued.ts'

/** So many are kept however old they are, younger ones than `ms` as well, and never more than `kept_max`. */
export interface RevisionRetention {
  readonly kept: number
  readonly ms: number
  readonly kept_max: number
}
const RETENTION: RevisionRetention = { kept: 1_000, ms: 90 * 86_400_000, kept_max: 20_000 }
/** More than one, so that many old ones go in time, and few enough for every apply. */
const EXPIRED_AT_ONCE = 4

/** A revision without its changes. */
export type CountedHeader = RevisionHeader & { readonly count: number }

/** Revisions, and their headers once more by themselves: a list of them must not read what thousands of records were. */
export class RevisionTable {
  readonly #revisions: Database<Revision, string>
  readonly #headers: Database<CountedHeader, string>
  readonly #retention: RevisionRetention

  constructor(
    revisions: Database<Revision, string>,
    headers: Database<CountedHeader, string>,
    retention: RevisionRetention = RETENTION,
  ) {
    this.#revisions = revisions
    this.#headers = headers
    this.#retention = retention
    this.#adopt()
  }

  /** Number of the oldest that is kept; undefined when there is none. */
  get oldest(): number | undefined {
    const [key] = this.#headers.getKeys({ limit: 1 })
    return key === undefined ? undefined : Number(key)
  }

  /** Part of the caller's transaction. What is too old, and what is too many, goes. */
  put(revision: Revision): void {
    const { changes, ...header } = revision
    queued(this.#revisions.put(padded(revision.revision), revision))
    queued(this.#headers.put(padded(revision.revision), { ...header, count: changes.length }))
    const { kept, ms, kept_max } = this.#retention
    for (const { key, value } of this.#headers.getRange({ limit: EXPIRED_AT_ONCE })) {
      const count = revision.revision - value.revision + 1
      const isYoung = Date.parse(revision.at) - Date.parse(value.at) < ms
      if (count <= kept || (isYoung && count <= kept_max)) break
      queued(this.#revisions.remove(key))
      queued(this.#headers.remove(key))
    }
  }

  list(limit: number, before: number | undefined): readonly Revision[] {
    return [...this.#revisions.getRange(newestFirst(limit, before))].map((row) => row.value)
  }

  headers(limit: number, before: number | undefined): readonly CountedHeader[] {
    return [...this.#headers.getRange(newestFirst(limit, before))].map((row) => row.value)
  }

  /** Gives headers to revisions of a version that had none. */
  #adopt(): void {
    const [oldest] = this.#headers.getKeys({ limit: 1 })
    for (const { key, value } of this.#revisions.getRange(oldest === undefined ? {} : { end: oldest })) {
      const { changes, ...header } = value
      this.#headers.putSync(key, { ...header, count: changes.length })
    }
  }
}

const newestFirst = (limit: number, before: number | undefined) => ({
  reverse: true,
  limit,
  ...(before === undefined ? {} : { start: padded(before), exclusiveStart: true }),
})
