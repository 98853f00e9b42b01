import { clusterRow } from '../../storage/config/cluster-rows.ts'
import type { ConfigStore } from '../../storage/config/config-store.ts'
import type { SharedRow } from '../../storage/config/store-state.ts'
import { ApiError } from '../base/errors.ts'
import { LEVEL } from '../cluster/levels.ts'
import { restoredWith } from '../config/restored-nodes.ts'
import { type AuthorityPair, type Member, pairRow, type Removed, rowOf } from './members.ts'

type Store = Pick<ConfigStore, 'getMeta' | 'staged'>

/** Refuses a pending identity: the others would know the node by an id that it gives up with the next apply. */
export function refusePendingIdentity(store: Store): void {
  if (!store.staged().some(({ section }) => section === 'nodeIdentities')) return
  throw new ApiError(
    'IN_USE',
    'A full backup is staged, which changes the identity of this node: apply or discard it first',
  )
}

/**
 * Returns the initial table of nodes: the node that forms the cluster, and the authorities. If the cluster is made from
 * a backup of several nodes, the others are lost, and count as removed: another machine may join in the place of each.
 */
export function firstMembers(store: Store, self: Member, pair: AuthorityPair): readonly SharedRow[] {
  const lost = restoredWith(store, self.id).map(({ id, hostname: name }): Removed => {
    // Nothing is known of a lost node, and none of its keys is in force.
    const unknown = { host: '', port: 0, pin: `lost ${id}`, spki: '', serials: [], tokenKey: '', version: '' }
    const numbers = { certifiedBy: 0, trusts: 0 }
    const member = { ...unknown, ...numbers, id, name, since: self.since }
    return { member, stage: 'done', at: self.since, by: self.id, isLeaving: false, keyId: '' }
  })
  const { puts: level } = clusterRow({ op: 'level', level: LEVEL })
  const rows = [{ key: self.id, value: self }, pairRow(pair), ...lost.map(rowOf), ...level]
  return rows.map((row) => ({ table: 'members', ...row }))
}
