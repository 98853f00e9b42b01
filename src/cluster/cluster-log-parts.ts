import { setTimeout as sleep } from 'node:timers/promises'
import type { Entry } from '../../storage/config/entry.ts'
import type { Folding } from '../../storage/config/fold.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { EtcdClient } from '../etcd/client.ts'
import type { Envelope } from './envelope.ts'
import type { LearnKeys } from './large-values.ts'
import type { ClusterKeys } from './sealing.ts'

export type Pause = (ms: number, signal: AbortSignal) => Promise<void>
export const sleepFor: Pause = (ms, signal) => sleep(ms, undefined, { signal })

/**
 * The store for the reason when this node's records differ from those of the others: entries do not show it a second
 * time. All other reasons for a halt follow from the log, and are found again on each start.
 */
export interface KeptHalt {
  /** The reason for which an earlier run was halted. */
  readonly why: string | undefined
  /** Resolves when the reason is durable. */
  keep(why: string): Promise<void>
}

/** The dependencies of the log of a cluster. */
export interface ClusterLogParts {
  readonly etcd: Pick<EtcdClient, 'range' | 'transact' | 'put' | 'delete' | 'watch'>
  readonly keys: ClusterKeys
  /** Id of the writing node. */
  readonly nodeId: string
  /** The history of the last entry that was folded here, see `historyOf`. */
  readonly history: () => string
  /** Rejects when an entry must not be written now. */
  readonly admits?: (entry: Entry) => Promise<void>
  /** Resolves when the written entry can no longer be lost with this node; otherwise rejects with `EtcdError`. */
  readonly settle?: () => Promise<void>
  /** Whether etcd is being reduced to this node alone. */
  readonly isTakingOver?: () => boolean
  readonly folding: Folding
  readonly clock: Clock
  readonly log: Log
  /** Number of entries between two checkpoints, the same for all nodes; 1,000 except in tests. */
  readonly checkpointEvery?: number
  /** Fetches the keys for values sealed with a key that this node does not have yet. */
  readonly learnKeys?: LearnKeys
  /** The reason why this node gets no keys any more; undefined when it gets all. */
  readonly lockedOut?: () => string | undefined
  readonly keptHalt?: KeptHalt
  /** Called for each folded entry, whichever node wrote it. */
  readonly onFolded?: (envelope: Envelope, position: number) => void
  /** The wait between tries; tests replace it. */
  readonly pause?: Pause
}

/** Never rejects: a node halts even if the reason cannot be stored. */
export async function keepHalt({ keptHalt, log }: ClusterLogParts, why: string): Promise<void> {
  try {
    await keptHalt?.keep(why)
  } catch (error) {
    log.error('a restart of the daemon would follow the cluster again', { why: String(error) })
  }
}
