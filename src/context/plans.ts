import type { Warning } from '../model/warning.ts'
import type { Applied, ApplyOptions } from './applying.ts'
import type { Asking } from './asking.ts'
import type { SectionEditor } from './sections.ts'
import type { FilePreview, ShownChange } from './staging.ts'
import type { SectionName } from '../model/sections.ts'

/** The edits of a plan, over the candidate, which nobody else sees. */
export interface PlannedEdits {
  section<N extends SectionName>(name: N): SectionEditor<N>
}

/** One change of a plan, with its effect. */
export interface PlannedChange extends ShownChange {
  readonly effect: string
  readonly services: readonly string[]
}

/** Changes that were worked out and not made. */
export interface Plan {
  readonly planId: string
  /** The revision that was running when it was made; it can be applied to no other. */
  readonly baseRevision: number
  /** SHA-256 of its changes, hexadecimal: two plans that do the same to one revision have the same digest. */
  readonly digest: string
  /** ISO 8601. Plans are kept in memory: a restart of the daemon loses them. */
  readonly expiresAt: string
  readonly changes: readonly PlannedChange[]
  readonly warnings: readonly Warning[]
  readonly files: readonly FilePreview[]
  readonly steps: readonly { readonly kind: string; readonly why: string }[]
}

export interface PlansReader {
  /**
   * Returns what `edit` would change, checked as an apply would check it. Touches nothing; refuses callers that could
   * not make those changes.
   */
  make(edit: (edits: PlannedEdits) => Promise<void>, asking: Asking): Promise<Plan>
}

export interface PlansActor extends PlansReader {
  /**
   * Makes exactly those changes running. Refuses with REVISION_MISMATCH if running or one of the records has changed.
   */
  apply(
    planId: string,
    options: Pick<ApplyOptions, 'comment' | 'confirmWithin' | 'isForced' | 'refuseWarnings'>,
    asking: Asking,
  ): Promise<Applied>
}
