import { ORDERS_TURN, TURN } from '../cluster/places.ts'
import type { EtcdClient } from '../etcd/client.ts'

export interface Turn {
  readonly key: string
  /** How long a holder that dies delays the others. */
  readonly ttl_s: number
}

/** Longer than a member takes to be stopped and started (30 s at most) and to answer (20). */
const OF_MEMBERS: Turn = { key: TURN, ttl_s: 60 }
/** Longer than a node works on one order. */
export const OF_ORDERS: Turn = { key: ORDERS_TURN, ttl_s: 300 }

/**
 * Does work while no other node does: by default, work during which this node's etcd member is away for a moment.
 * Returns whether it was this node's turn; if not, the caller must retry later.
 */
export async function inEtcdTurn(
  etcd: Pick<EtcdClient, 'transact' | 'leases'>,
  nodeId: string,
  work: () => Promise<void>,
  { key, ttl_s }: Turn = OF_MEMBERS,
): Promise<boolean> {
  const lease = await etcd.leases.grant(ttl_s)
  try {
    const { succeeded } = await etcd.transact({
      compare: [{ key, of: 'createRevision', is: '=', than: 0 }],
      success: [{ put: key, value: nodeId, lease: lease.id }],
    })
    if (succeeded) await work()
    return succeeded
  } finally {
    // If this fails, the lease expires.
    await etcd.leases.revoke(lease.id).catch(() => undefined)
  }
}
