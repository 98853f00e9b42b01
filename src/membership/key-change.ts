import type { MachineClock } from '../base/clock.ts'
import { keyNotice } from '../cluster/key-notice.ts'
import { keyName } from '../cluster/places.ts'
import { type ClusterKeys, newClusterKey } from '../cluster/sealing.ts'
import type { EtcdClient } from '../etcd/client.ts'
import { keepAuthorities, newAuthorities, pairOf } from './authorities.ts'
import type { OwnMembership } from './cluster-files.ts'
import type { Members } from './members.ts'

export interface KeyChangeParts {
  readonly own: Pick<OwnMembership, 'clusterId'>
  readonly etcd: Pick<EtcdClient, 'range' | 'put' | 'transact'>
  readonly keys: ClusterKeys
  readonly members: Members
  readonly clock: Pick<MachineClock, 'now_ms'>
}

/**
 * Replaces the key of the cluster, and then the authorities, if the key is still `before`, the id of a key. Each step
 * is derived from the current state, so if a node ends midway the same call continues; and if two nodes do it at once
 * one is refused. Rejects if etcd does not answer.
 */
export async function changeKeys(parts: KeyChangeParts, before: string): Promise<void> {
  await rotate(parts, before)
  await replaceAuthorities(parts, before)
}

/** Everything that is sealed from then on is sealed with a key that only the nodes of this moment are given. */
async function rotate({ keys, members, etcd, clock }: KeyChangeParts, before: string): Promise<void> {
  while (keys.newestKeyId === before) {
    const recipients = members.all()
    const key = newClusterKey()
    const number = 1 + Math.max(0, ...members.keyNotices().map((notice) => notice.number))
    const at = new Date(clock.now_ms()).toISOString()
    const notice = keyNotice(keys.clusterId, key, recipients, { number, at })
    const name = keyName(key.keyId)
    // First for nodes that will begin with the checkpoint: nobody may seal with a key that somebody cannot find.
    await etcd.put(name, keys.seal(name, Buffer.from(JSON.stringify(notice))))
    const isSame = () => {
      const now = new Set(members.all().map(({ spki }) => spki))
      return now.size === recipients.length && recipients.every(({ spki }) => now.has(spki))
    }
    await members.tellKey(() => (keys.newestKeyId === before && isSame() ? notice : undefined))
  }
}

/** Authorities whose keys are sealed with a later key than that. */
async function replaceAuthorities({ own, members, keys, etcd, clock }: KeyChangeParts, before: string): Promise<void> {
  const ageOf = (keyId: string) => members.keyNotices().find((notice) => notice.keyId === keyId)?.number ?? 0
  const newest = () => members.authorities().at(-1)
  for (;;) {
    const { keyId = '', number = 0 } = newest() ?? {}
    if (ageOf(keyId) > ageOf(before)) return
    const sealing = keys.newestKeyId
    const kept = await keepAuthorities(etcd, keys, await newAuthorities(own.clusterId, clock.now_ms()))
    await members.tellAuthorities(() =>
      newest()?.number === number && keys.newestKeyId === sealing ? pairOf(kept, sealing, number + 1) : undefined,
    )
  }
}
