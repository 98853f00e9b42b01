import type { SectionContents, SectionName } from '../model/sections.ts'
import type { Warning } from '../model/warning.ts'
import type { Actor } from './actor.ts'
import type { Asking } from './asking.ts'
import type { RevisionChanges } from './revisions.ts'

/** The effect of a change on one record. */
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
  /** Other users who have changed it. */
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
  /** Warnings about the changes. */
  readonly warnings: readonly Warning[]
}

export interface PlanPreview extends Pending {
  readonly files: readonly FilePreview[]
  readonly steps: readonly { readonly kind: string; readonly why: string }[]
}

export interface PendingReader {
  list(): Promise<Pending>
  /**
   * Returns the number of changes, how many of them the user with this e-mail address made, and the time of the last
   * one.
   */
  count(by: string): { readonly count: number; readonly mine: number; readonly changedAt: string | null }
  /** Returns the warnings about the changes; recomputed if the changes differ, or after some seconds. */
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
  /** E-mail address of the user who opened it. */
  readonly owner: string
  /** ISO 8601. */
  readonly openedAt: string
  /** ISO 8601; each use of the transaction extends this. */
  readonly expiresAt: string
  /** Id of the node that holds it. */
  readonly nodeId: string
  /** Number of records edited in it, if this node knows. */
  readonly count?: number
}

/** The open transaction that another node holds. */
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

/** How many pending changes were taken back, and how many of them the caller did not name. */
export interface TakenBack {
  readonly count: number
  readonly others: number
}

/** Edits of a request that concern more than single records. */
export interface Edits {
  /** Makes whole sections hold exactly these records; refuses to leave the candidate broken. */
  restore(contents: SectionContents): Promise<void>
  /**
   * Takes back exactly what one revision changed, and resolves with the number of records concerned; refuses if those
   * have changed since, or if the caller lacks the rights.
   */
  reverse(made: RevisionChanges): Promise<number>
  /**
   * Takes pending changes back; refuses callers that could not have made them. Changes of access are taken back
   * together.
   */
  discard(which: 'all' | 'mine' | { readonly id: string }): TakenBack
  /**
   * Calls `act` once the edits are written, before the next request may edit. A handler runs again if another node has
   * written first, so its own side effects may happen twice.
   */
  afterwards(act: () => Promise<void>): void
}
