import type { Warning } from '../model/warning.ts'
import type { Applied, ApplyOptions } from './applying.ts'
import type { Asking } from './asking.ts'
import type { SectionEditor } from './sections.ts'
import type { FilePreview, ShownChange } from './staging.ts'
import type { SectionName } from '../model/sections.ts'

/** What a plan is made of: edits over the candidate that nobody else sees. */
export interface PlannedEdits {
  section<N extends SectionName>(name: N): SectionEditor<N>
}

/** One change of a plan, and what it costs. */
export interface PlannedChange extends ShownChange {
  readonly effect: string
  readonly services: readonly string[]
}

/** Changes that were thought through and not made. */
export interface Plan {
  readonly planId: string
  /** The revision that ran when it was made; on another one it is not applied. */
  readonly baseRevision: number
  /** SHA-256, hexadecimal, of what it changes: two plans that would do the same on one revision have the same. */
  readonly digest: string
  /** ISO 8601. It is kept in memory: a start of the daemon forgets it. */
  readonly expiresAt: string
  readonly changes: readonly PlannedChange[]
  readonly warnings: readonly Warning[]
  readonly files: readonly FilePreview[]
  readonly steps: readonly { readonly kind: string; readonly why: string }[]
}

export interface PlansReader {
  /**
   * What `edit` would change, checked as an apply would check it. Touches nothing; refuses callers that could not make
   * those changes.
   */
  make(edit: (edits: PlannedEdits) => Promise<void>, asking: Asking): Promise<Plan>
}

export interface PlansActor extends PlansReader {
  /**
   * Makes exactly those changes running. Refuses with REVISION_MISMATCH when running or one of the records has moved.
   */
  apply(
    planId: string,
    options: Pick<ApplyOptions, 'comment' | 'confirmWithin' | 'isForced' | 'refuseWarnings'>,
    asking: Asking,
  ): Promise<Applied>
}
