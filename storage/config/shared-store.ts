import type { ConfigStore, Frozen, RecordKey, SharedTable } from './config-store.ts'
import type { EntryLog } from './entry.ts'
import type { Folding } from './fold.ts'

/** A store as a cluster needs it. */
export interface SharedStore extends Pick<
  ConfigStore,
  'agreed' | 'revision' | 'staged' | 'unconfirmed' | 'edit' | 'getMeta'
> {
  readonly folding: Folding
  /** See ConfigStore. */
  aheadOn(nodeId: string): readonly RecordKey[]
  readonly members: SharedTable
  readonly joinTokens: SharedTable
  /** From now on entries are ordered by this log, which gives all of them to `folding`. */
  orderBy(log: EntryLog): void
  /** From now on it has folded nothing, and takes over what the log says; until then it can be read as it was. */
  startOver(): Promise<void>
  /** What an apply has frozen that has not ended. */
  underWay(): Frozen | undefined
  /** Entries are ordered here alone, once `end` has ended what orders them; while it works, nothing is written. */
  standAlone(end: () => Promise<void>): Promise<void>
  /** Entries are ordered by what `make` answers from then on; while it works, nothing is written. */
  handOver(make: () => Promise<EntryLog>): Promise<void>
}
