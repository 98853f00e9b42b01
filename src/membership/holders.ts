import type { Holders } from '../config/transactions.ts'
import type { Membership } from './membership.ts'

interface Parts {
  readonly nodeId: string
  readonly membership: Membership
}

/** The nodes of the cluster, for the open transaction; only this one without a cluster. */
export const holders = ({ nodeId: self, membership }: Parts): Holders => ({
  self,
  get hasQuorum() {
    return membership.sharedLog?.hasQuorum ?? true
  },
  nameOf: (nodeId) => membership.members.get(nodeId)?.name,
  isReachable: (nodeId) => membership.cluster?.isReachable(nodeId) ?? false,
})
