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
 * Where it is kept that this node has something else than the others: entries do not show it again. What else halts a
 * node stands in the log, and is met by each start.
 */
export interface KeptHalt {
  /** The reason for which an earlier run was halted. */
  readonly why: string | undefined
  /** Resolves when it is durable. */
  keep(why: string): Promise<void>
}

/** What the log of a cluster is made of. */
export interface ClusterLogParts {
  readonly etcd: Pick<EtcdClient, 'range' | 'transact' | 'put' | 'delete' | 'watch'>
  readonly keys: ClusterKeys
  /** Id of the writing node. */
  readonly nodeId: string
  /** The history that the last entry belongs to that was folded here, see `historyOf`. */
  readonly history: () => string
  /** Rejects where an entry must not be written now. */
  readonly admits?: (entry: Entry) => Promise<void>
  /** Resolves when what was written outlives this node, whatever ends; otherwise rejects with `EtcdError`. */
  readonly settle?: () => Promise<void>
  /** Whether etcd is being made one of this node alone. */
  readonly isTakingOver?: () => boolean
  readonly folding: Folding
  readonly clock: Clock
  readonly log: Log
  /** Entries between two checkpoints, the same for all nodes; 1,000 unless a test says otherwise. */
  readonly checkpointEvery?: number
  /** For what was sealed with a key that this node does not have yet. */
  readonly learnKeys?: LearnKeys
  /** Why this node is given no keys any more, in words; undefined where it is to have all. */
  readonly lockedOut?: () => string | undefined
  readonly keptHalt?: KeptHalt
  /** Told of each entry that was folded, of whatever node. */
  readonly onFolded?: (envelope: Envelope, position: number) => void
  /** How it waits; tests do not. */
  readonly pause?: Pause
}

/** Never rejects: a node is halted also where that cannot be kept. */
export async function keepHalt({ keptHalt, log }: ClusterLogParts, why: string): Promise<void> {
  try {
    await keptHalt?.keep(why)
  } catch (error) {
    log.error('a start of the daemon would follow the cluster again', { why: String(error) })
  }
}
