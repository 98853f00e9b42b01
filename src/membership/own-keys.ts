import { keyIn, type KeyNotice } from '../cluster/key-notice.ts'
import { KEYS_SPAN, keyName } from '../cluster/places.ts'
import { type ClusterKeys, keyIdOf, SealingError } from '../cluster/sealing.ts'
import type { EtcdClient } from '../etcd/client.ts'
import type { Members } from './members.ts'

export interface KeyHolder {
  readonly nodeId: string
  /** PEM: the key that decrypts cluster keys sent to this node. */
  readonly privateKey: string
  readonly keys: ClusterKeys
}

/** Adopts the keys announced in the log: the newest seals from now on. */
export function takeKeys(holder: KeyHolder, members: Pick<Members, 'keyNotices'>): void {
  for (const notice of members.keyNotices()) {
    hold(holder, notice)
    if (holder.keys.has(notice.keyId)) holder.keys.use(notice.keyId)
  }
}

/**
 * Reads the keys in etcd, for entries that precede the announcement of a key. They only open: the node that stored a
 * key may have ended before announcing it. Each key is sealed with an earlier one.
 */
export async function learnKeys(holder: KeyHolder, etcd: Pick<EtcdClient, 'range'>): Promise<void> {
  let left = (await etcd.range(KEYS_SPAN)).kvs
  for (;;) {
    const readable = left.filter(({ value }) => holder.keys.has(keyIdOf(value)))
    if (readable.length === 0) return
    for (const { key, value } of readable) hold(holder, opened(holder, Buffer.from(key).toString(), value))
    left = left.filter((one) => !readable.includes(one))
  }
}

function opened({ keys }: KeyHolder, name: string, value: Uint8Array): KeyNotice | undefined {
  try {
    // Sound: only nodes can seal.
    const notice = JSON.parse(keys.open(name, value).toString()) as KeyNotice
    return keyName(notice.keyId) === name ? notice : undefined
  } catch (error) {
    if (error instanceof SealingError) return undefined
    throw error
  }
}

function hold({ keys, nodeId, privateKey }: KeyHolder, notice: KeyNotice | undefined): void {
  if (notice === undefined || keys.has(notice.keyId)) return
  const key = keyIn(keys.clusterId, notice, nodeId, privateKey)
  if (key !== undefined) keys.hold(key)
}
