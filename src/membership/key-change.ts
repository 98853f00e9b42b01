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
 * Replaces the cluster key, and then the authorities, if the current key's id is `before`. Each step is derived from
 * the current state, so if a node ends midway the same call continues; and if two nodes call it at once one is refused.
 * Rejects if etcd does not answer.
 */
export async function changeKeys(parts: KeyChangeParts, before: string): Promise<void> {
  await rotate(parts, before)
  await replaceAuthorities(parts, before)
}

/** Introduces a key that only the current nodes receive, for everything that is sealed from then on. */
async function rotate({ keys, members, etcd, clock }: KeyChangeParts, before: string): Promise<void> {
  while (keys.newestKeyId === before) {
    const recipients = members.all()
    const key = newClusterKey()
    const number = 1 + Math.max(0, ...members.keyNotices().map((notice) => notice.number))
    const at = new Date(clock.now_ms()).toISOString()
    const notice = keyNotice(keys.clusterId, key, recipients, { number, at })
    const name = keyName(key.keyId)
    // The key is stored first, for nodes that will start from the checkpoint: nothing may be sealed with a key that a
    // node cannot find.
    await etcd.put(name, keys.seal(name, Buffer.from(JSON.stringify(notice))))
    const isSame = () => {
      const now = new Set(members.all().map(({ spki }) => spki))
      return now.size === recipients.length && recipients.every(({ spki }) => now.has(spki))
    }
    await members.tellKey(() => (keys.newestKeyId === before && isSame() ? notice : undefined))
  }
}

/** Introduces authorities whose keys are sealed with a later key than `before`. */
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
