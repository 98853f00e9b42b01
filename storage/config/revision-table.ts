import type { Database } from 'lmdb'
import type { Revision, RevisionHeader } from './config-store.ts'
import { padded } from './keys.ts'
import { queued } from './queued.ts'

/** A revision without its changes. */
export type CountedHeader = RevisionHeader & { readonly count: number }

/** Revisions, and their headers once more by themselves: a list of them must not read what thousands of records were. */
export class RevisionTable {
  readonly #revisions: Database<Revision, string>
  readonly #headers: Database<CountedHeader, string>
  readonly #kept: number

  constructor(revisions: Database<Revision, string>, headers: Database<CountedHeader, string>, kept: number) {
    this.#revisions = revisions
    this.#headers = headers
    this.#kept = kept
    this.#adopt()
  }

  /** Part of the caller's transaction. The oldest goes when there are too many. */
  put(revision: Revision): void {
    const { changes, ...header } = revision
    queued(this.#revisions.put(padded(revision.revision), revision))
    queued(this.#headers.put(padded(revision.revision), { ...header, count: changes.length }))
    const expired = revision.revision - this.#kept
    if (expired <= 0) return
    queued(this.#revisions.remove(padded(expired)))
    queued(this.#headers.remove(padded(expired)))
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
