import { TURN } from '../cluster/places.ts'
import type { EtcdClient } from '../etcd/client.ts'

/** Who has the turn and goes away holds up the others for so long. */
const TURN_S = 30

/**
 * Does something that takes this node's member of etcd away for a moment, while no other node does. Answers whether it
 * was this node's turn; if not, it is asked again later.
 */
export async function inEtcdTurn(
  etcd: Pick<EtcdClient, 'transact' | 'leases'>,
  nodeId: string,
  work: () => Promise<void>,
): Promise<boolean> {
  const lease = await etcd.leases.grant(TURN_S)
  try {
    const { succeeded } = await etcd.transact({
      compare: [{ key: TURN, of: 'createRevision', is: '=', than: 0 }],
      success: [{ put: TURN, value: nodeId, lease: lease.id }],
    })
    if (succeeded) await work()
    return succeeded
  } finally {
    // Where that fails it ends by itself.
    await etcd.leases.revoke(lease.id).catch(() => undefined)
  }
}
