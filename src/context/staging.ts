import type { SectionContents, SectionName } from '../model/sections.ts'
import type { Warning } from '../model/warning.ts'
import type { Actor } from './actor.ts'
import type { Asking } from './asking.ts'
import type { RevisionChanges } from './revisions.ts'

/** What a change does to one record. */
export interface ShownChange {
  readonly op: 'create' | 'update' | 'delete'
  readonly resource: string
  readonly resourceId: string
  readonly name: string
  /** The record, or for an update its changed fields only; secrets read `**`. */
  readonly before: Readonly<Record<string, unknown>> | null
  readonly after: Readonly<Record<string, unknown>> | null
}

/** One pending change as `GET /services/pending` shows it. */
export interface PendingChange extends ShownChange {
  readonly id: string
  readonly by: string
  /** Who has changed it as well. */
  readonly alsoBy: readonly string[]
  readonly at: string
  readonly effect: string
  readonly services: readonly string[]
  /** Ids of the nodes that run something else. */
  readonly pendingOn: readonly string[]
}

export interface FilePreview {
  readonly path: string
  /** Unified diff against the file of the running configuration. */
  readonly diff: string
}

export interface Pending {
  readonly revision: number
  readonly changes: readonly PendingChange[]
  /** What should be known of them. */
  readonly warnings: readonly Warning[]
}

export interface PlanPreview extends Pending {
  readonly files: readonly FilePreview[]
  readonly steps: readonly { readonly kind: string; readonly why: string }[]
}

export interface PendingReader {
  list(): Promise<Pending>
  /** How many there are, how many of them somebody with this e-mail made, and when one of them was changed last. */
  count(by: string): { readonly count: number; readonly mine: number; readonly changedAt: string | null }
  /** What should be known of them; found anew when there are others, or after some seconds. */
  warnings(): Promise<readonly Warning[]>
  /** Ids of records of one section that differ between candidate and running. */
  changedIds(section: SectionName): readonly string[]
  preview(): Promise<PlanPreview>
  /** Checks the candidate with every driver and the program's own checker. Refuses with CONFIG_INVALID. */
  validate(): Promise<Pending>
}

/** An open editing session. */
export interface TransactionEntry {
  readonly id: string
  /** E-mail of who opened it. */
  readonly owner: string
  /** ISO 8601. */
  readonly openedAt: string
  /** ISO 8601; each use of it moves this. */
  readonly expiresAt: string
  /** Id of the node that holds it. */
  readonly nodeId: string
  /** Records edited in it, where this node knows. */
  readonly count?: number
}

/** The open transaction, where another node holds it. */
export interface HeldElsewhere {
  readonly id: string
  readonly nodeId: string
  readonly isReachable: boolean
}

export interface TransactionsReader {
  list(): readonly TransactionEntry[]
  /** Refuses with TRANSACTION_OPEN while one is open. */
  refuseOpen(): void
}
export interface TransactionsActor extends TransactionsReader {
  begin(owner: Actor): Promise<TransactionEntry>
  commit(id: string, asking: Asking): Promise<void>
  rollback(id: string, asking: Asking): Promise<void>
}

/** Edits of a request beyond single records. */
export interface Edits {
  /** Makes whole sections hold exactly these records; refuses what would leave the candidate broken. */
  restore(contents: SectionContents): Promise<void>
  /**
   * Takes back what one revision changed, and nothing else, and answers how many records that takes; refuses when it
   * was changed again since, and who may not.
   */
  reverse(made: RevisionChanges): Promise<number>
  /**
   * Takes pending changes back; refuses who could not have made them. Those of access go together: answers how many go
   * that were not named.
   */
  discard(which: 'all' | 'mine' | { readonly id: string }): number
  /**
   * Does this when the edits are written, before the next request may edit. A handler begins again where another node
   * has written first, so what it does itself it may do twice.
   */
  afterwards(act: () => Promise<void>): void
}
