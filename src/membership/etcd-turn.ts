import { ORDERS_TURN, TURN } from '../cluster/places.ts'
import type { EtcdClient } from '../etcd/client.ts'

export interface Turn {
  readonly key: string
  /** A holder of the turn that goes away holds up the others for this long. */
  readonly ttl_s: number
}

/** Longer than a member takes to be stopped and started (30 s at the most) and to answer (20). */
const OF_MEMBERS: Turn = { key: TURN, ttl_s: 60 }
/** Longer than a node is at work on one order. */
export const OF_ORDERS: Turn = { key: ORDERS_TURN, ttl_s: 300 }

/**
 * Does something while no other node does: by default what takes this node's member of etcd away for a moment. Answers
 * whether it was this node's turn; if not, it is asked again later.
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
    // Where that fails it ends by itself.
    await etcd.leases.revoke(lease.id).catch(() => undefined)
  }
}
