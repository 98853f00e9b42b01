import type { ShownChange } from './staging.ts'
import type { SectionContents } from '../model/sections.ts'

/** One apply, as it is kept. */
export interface RevisionEntry {
  readonly revision: number
  readonly applyId: string
  readonly by: string
  /** ISO 8601. */
  readonly at: string
  readonly comment: string
  /** Records it changed. */
  readonly count: number
}

/** What one revision changed. */
export interface RevisionChanges {
  readonly revision: number
  readonly changes: readonly {
    readonly section: string
    readonly scope: string
    readonly key: string
    /** null: there was none. */
    readonly before: unknown
    readonly after: unknown
  }[]
}

export interface RevisionsReader {
  /** Newest first. */
  list(limit: number, before: number | undefined): readonly RevisionEntry[]
  /** What differs between two revisions; refuses with NOT_FOUND. */
  diff(a: number, b: number): Promise<readonly ShownChange[]>
  /** Every section as it was; refuses with NOT_FOUND. */
  contents(revision: number): Promise<SectionContents>
  /** Refuses with NOT_FOUND. */
  changes(revision: number): RevisionChanges
}
