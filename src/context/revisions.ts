import type { ShownChange } from './staging.ts'
import type { SectionContents } from '../model/sections.ts'

/** One apply as a revision stores it. */
export interface RevisionEntry {
  readonly revision: number
  readonly applyId: string
  readonly by: string
  /** ISO 8601. */
  readonly at: string
  readonly comment: string
  /** Number of records that it changed. */
  readonly count: number
}

/** The changes of one revision. */
export interface RevisionChanges {
  readonly revision: number
  readonly changes: readonly {
    readonly section: string
    readonly scope: string
    readonly key: string
    /** null if there was no record. */
    readonly before: unknown
    readonly after: unknown
  }[]
}

export interface RevisionsReader {
  /** Newest first. */
  list(limit: number, before: number | undefined): readonly RevisionEntry[]
  /** Returns the differences between two revisions; refuses with NOT_FOUND. */
  diff(a: number, b: number): Promise<readonly ShownChange[]>
  /** Returns all sections as they were; refuses with NOT_FOUND. */
  contents(revision: number): Promise<SectionContents>
  /** Refuses with NOT_FOUND. */
  changes(revision: number): RevisionChanges
}
