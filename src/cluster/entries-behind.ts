import type { EtcdClient } from '../etcd/client.ts'
import type { CallOptions } from '../etcd/gateways.ts'
import { decodeEnvelope, type Envelope } from './envelope.ts'
import { LargeValues, type LearnKeys } from './large-values.ts'
import { LOG_END, logName, positionIn } from './places.ts'
import type { ClusterKeys } from './sealing.ts'

const READ_AT_ONCE = 64

export interface EntriesBehind {
  readonly entries: readonly Envelope[]
  /** Whether nothing is missing: a checkpoint deletes entries whose result it contains. */
  readonly isWhole: boolean
}

/** Reads what one member of etcd has of the log behind a position, whether or not the others answer that member. */
export async function entriesBehind(
  etcd: Pick<EtcdClient, 'range' | 'put' | 'delete'>,
  keys: ClusterKeys,
  position: number,
  { learnKeys, ...options }: CallOptions & { readonly learnKeys?: LearnKeys } = {},
): Promise<EntriesBehind> {
  const values = new LargeValues(etcd, keys, learnKeys)
  const entries: Envelope[] = []
  for (let last = position; ;) {
    const span = { from: logName(last + 1), before: LOG_END }
    const { kvs, hasMore } = await etcd.range(span, { limit: READ_AT_ONCE, isSerializable: true, ...options })
    for (const { key, value } of kvs) {
      if (positionIn(key) !== last + 1) return { entries, isWhole: false }
      last += 1
      entries.push(decodeEnvelope(await values.opened(logName(last), value, last)))
    }
    if (!hasMore) return { entries, isWhole: true }
  }
}
