import type { SharedStore } from '../../storage/config/shared-store.ts'
import { CLUSTER, configView } from '../config/views.ts'

/**
 * Disables the floating IPs that nodes of the cluster go on with, on a node that has just left it: alone, it would have
 * them as its own addresses, and two machines would answer for each.
 */
export async function leaveAddresses(store: Pick<SharedStore, 'agreed' | 'edit'>, nodeId: string): Promise<void> {
  const running = configView(store.agreed)
  const shared = [...running.list('floatingIps')].filter(({ enabled, groupId }) => {
    const assigned = running.get('ipGroups', groupId)?.assignedInterfaces ?? []
    return enabled && assigned.some((one) => one.nodeId !== nodeId)
  })
  for (const { id } of shared) {
    const key = { section: 'floatingIps', scope: CLUSTER, key: id } as const
    await store.edit(() => ({ result: undefined, entry: { op: 'amend', key, patch: { enabled: false } } }))
  }
}
