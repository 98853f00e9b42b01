import type { ConfigStore, Revision } from '../../storage/config/config-store.ts'
import type { ShownChange } from '../context/staging.ts'
import type { RevisionChanges, RevisionEntry, RevisionsReader } from '../context/revisions.ts'
import { ApiError } from '../base/errors.ts'
import { keepingAmendments } from './amended-since.ts'
import { type RecordChange, SECTION_NAMES, type SectionContents, type SectionName } from '../model/sections.ts'
import { shownChange } from './shown-change.ts'
import { onOneRevision } from './turns.ts'
import { inTurns, turn } from '../base/turns.ts'
import { CLUSTER } from './views.ts'

/** One record over several revisions: its values before the first and after the last. */
interface Span {
  readonly section: string
  readonly key: string
  before: unknown
  after: unknown
}

/** The revisions of all applies that are kept. */
export class Revisions implements RevisionsReader {
  readonly #store: ConfigStore

  constructor(store: ConfigStore) {
    this.#store = store
  }

  list(limit: number, before: number | undefined): readonly RevisionEntry[] {
    return this.#store.revisionHeaders(limit, before)
  }

  diff(a: number, b: number): Promise<readonly ShownChange[]> {
    return onOneRevision(this.#store, async () => {
      const spans = await this.#between(Math.min(a, b), Math.max(a, b))
      const shown: ShownChange[] = []
      await inTurns(spans, (span) => {
        const change = a <= b ? asChange(span, span.before, span.after) : asChange(span, span.after, span.before)
        if (JSON.stringify(change.before) !== JSON.stringify(change.after)) shown.push(shownChange(change))
      })
      return shown
    })
  }

  contents(revision: number): Promise<SectionContents> {
    return onOneRevision(this.#store, async () => {
      const spans = await this.#between(revision, this.#store.revision)
      const records = new Map<string, Map<string, unknown>>()
      for (const section of SECTION_NAMES) {
        const agreed = this.#store.agreed.list(section, CLUSTER)
        // Every record carries its own id.
        records.set(section, new Map(agreed.map(({ value }) => [String(Reflect.get(Object(value), 'id')), value])))
        await turn()
      }
      for (const { section, key, before, after } of spans) {
        const ofSection = records.get(section)
        if (before === null) ofSection?.delete(key)
        else ofSection?.set(key, keepingAmendments(before, after, ofSection.get(key)))
      }
      const of = (section: SectionName) => [...(records.get(section)?.values() ?? [])]
      // Sound: each was a record of its section when it was applied.
      return Object.fromEntries(SECTION_NAMES.map((section) => [section, of(section)])) as SectionContents
    })
  }

  changes(revision: number): RevisionChanges {
    const [made] = Number.isInteger(revision) ? this.#store.revisions(1, revision + 1) : []
    if (made?.revision === revision) return made
    throw this.#unknown(this.#store.oldestRevision)
  }

  /**
   * Returns the change of each record after revision `from`, up to and including `to`. Reads one revision at a time,
   * because it may hold thousands of records.
   */
  async #between(from: number, to: number): Promise<readonly Span[]> {
    this.#refuseUnknown(from)
    this.#refuseUnknown(to)
    const spans = new Map<string, Span>()
    for (let next = to; next > from;) {
      const [revision] = this.#store.revisions(1, next + 1)
      if (revision === undefined || revision.revision <= from) break
      await inTurns(revision.changes, (change) => widen(spans, change))
      next = revision.revision - 1
      await turn()
    }
    return [...spans.values()]
  }

  #refuseUnknown(revision: number): void {
    const { revision: last } = this.#store
    // The oldest revision holds the values before it.
    const oldest = this.#store.oldestRevision - 1
    if (Number.isInteger(revision) && revision >= oldest && revision <= last) return
    throw this.#unknown(oldest)
  }

  #unknown(oldest: number): ApiError {
    const kept = `${oldest} to ${this.#store.revision}`
    return new ApiError('NOT_FOUND', `There is no such revision; revisions ${kept} are stored`)
  }
}

/** Revisions come newest first, so each older one only changes the value before. */
function widen(spans: Map<string, Span>, { section, key, before, after }: Revision['changes'][number]): void {
  const id = `${section}\0${key}`
  const span = spans.get(id)
  if (span === undefined) spans.set(id, { section, key, before, after })
  else span.before = before
}

function asChange({ section, key: id }: Span, before: unknown, after: unknown): RecordChange {
  // Sound: what revisions hold was a record of its section.
  return { section, id, before: before ?? undefined, after: after ?? undefined } as RecordChange
}
