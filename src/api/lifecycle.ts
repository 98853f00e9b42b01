import type { EventKind, Job } from '../model/job.ts'
import type { SectionContents } from '../model/sections.ts'
import type { BackupsActor, BackupsReader } from './backups.ts'
import type { ShownChange } from './context.ts'
import type { Stream } from './reply.ts'
import type { PowerActor, SnapshotsActor, SnapshotsReader, UpdatesActor, UpdatesReader } from './machine-lifecycle.ts'

/** What handlers see of the parts that keep an appliance alive. Readers first; what acts extends them. */

export interface JobsReader {
  /** Newest first. */
  list(): readonly Job[]
  /** Refuses with NOT_FOUND. */
  get(id: string): Job
}
export interface JobsActor extends JobsReader {
  /** Asks a job to end; refuses with NOT_FOUND, or NOT_SUPPORTED when it cannot be ended safely (any more). */
  cancel(id: string): void
}

/** What a search of the audit log looks for; every field that is given must fit. */
export interface AuditFilter {
  readonly limit: number
  /** Entries with smaller numbers only. */
  readonly before?: number | undefined
  /** ISO 8601, inclusive. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** Text that the entry holds, whatever its case. */
  readonly text?: string | undefined
  readonly by?: string | undefined
  readonly endpoint?: string | undefined
  readonly address?: string | undefined
  readonly outcome?: string | undefined
}
export interface AuditEntry {
  readonly seq: number
  readonly at: string
  readonly [field: string]: unknown
}
export interface AuditReader {
  /** Newest first. */
  search(filter: AuditFilter): Promise<readonly AuditEntry[]>
}

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
export interface RevisionsReader {
  /** Newest first. */
  list(limit: number, before: number | undefined): readonly RevisionEntry[]
  /** What differs between two revisions; refuses with NOT_FOUND. */
  diff(a: number, b: number): Promise<readonly ShownChange[]>
  /** Every section as it was; refuses with NOT_FOUND. */
  contents(revision: number): Promise<SectionContents>
}

export interface EventsReader {
  /** What comes, after what came since the event with this number; of these kinds, of all when there are none. */
  stream(after: number | undefined, kinds: readonly EventKind[]): Stream
}

export interface LifecycleReading {
  readonly backups: BackupsReader
  readonly events: EventsReader
  readonly audit: AuditReader
  readonly revisions: RevisionsReader
  readonly jobs: JobsReader
  readonly updates: UpdatesReader
  readonly snapshots: SnapshotsReader
}
export interface Lifecycle extends LifecycleReading {
  readonly backups: BackupsActor
  readonly jobs: JobsActor
  readonly updates: UpdatesActor
  readonly snapshots: SnapshotsActor
  readonly power: PowerActor
}
