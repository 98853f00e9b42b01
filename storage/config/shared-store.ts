import type { ConfigStore, Frozen, RecordKey, SharedTable } from './config-store.ts'
import type { EntryLog } from './entry.ts'
import type { Folding } from './fold.ts'

/** The store's interface for a cluster. */
export interface SharedStore extends Pick<
  ConfigStore,
  'agreed' | 'revision' | 'staged' | 'unconfirmed' | 'edit' | 'getMeta'
> {
  readonly folding: Folding
  /** See ConfigStore. */
  aheadOn(nodeId: string): readonly RecordKey[]
  readonly members: SharedTable
  readonly joinTokens: SharedTable
  /** Lets this log order the entries from now on; it passes all of them to `folding`. */
  orderBy(log: EntryLog): void
  /** Resets the position, so that the store takes over the log's state; until then its old contents can be read. */
  startOver(): Promise<void>
  /** The changes frozen by an apply that has not ended. */
  underWay(): Frozen | undefined
  /** Orders entries locally again, once `end` has ended the current log; nothing is written meanwhile. */
  standAlone(end: () => Promise<void>): Promise<void>
  /** Lets the log that `make` returns order the entries from then on; nothing is written while `make` runs. */
  handOver(make: () => Promise<EntryLog>): Promise<void>
}
