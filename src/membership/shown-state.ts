import type { SharedStore } from '../../storage/config/shared-store.ts'
import { addressText } from '../base/socket-address.ts'
import type { ClusterNode, ClusterState, PartedHistories } from '../context/cluster.ts'
import type { Member as EtcdMember } from '../etcd/members.ts'
import type { OwnMembership } from './cluster-files.ts'
import type { Member, Members } from './members.ts'

export interface ShownParts {
  readonly own: OwnMembership
  readonly store: Pick<SharedStore, 'aheadOn'>
  readonly members: Members
  readonly log: { readonly position: number; readonly halted: string | undefined }
  readonly histories: { readonly parted: PartedHistories | undefined }
  /** What the member of etcd that answers knows; undefined where none answers. */
  readonly listed: readonly EtcdMember[] | undefined
  /** Id of the member that leads; undefined where the own member does not answer. */
  readonly leader: string | undefined
  readonly removedAt: string | undefined
  readonly stateOf: (nodeId: string) => ClusterNode['state']
}

/** What people are told of the cluster. */
export function shownState(parts: ShownParts): ClusterState {
  const { own, log, histories, members, leader, removedAt } = parts
  const { pair } = members
  return {
    id: own.clusterId,
    name: own.name,
    epoch: members.epoch,
    quorum: leader !== undefined && leader !== '0',
    sequence: log.position,
    halted: log.halted,
    removedAt,
    preferredNode: pair?.preferredNode,
    takeoverAfter: pair?.takeoverAfter_s,
    histories: histories.parted,
    nodes: members.all().map((member) => shownNode(parts, member)),
  }
}

function shownNode({ own, store, listed, leader, stateOf }: ShownParts, member: Member): ClusterNode {
  const { id, name, version, since } = member
  const voter = listed?.find((one) => one.name === id)
  return {
    id,
    name,
    address: addressText(member),
    isSelf: id === own.nodeId,
    state: stateOf(id),
    isVoter: voter?.isLearner === false,
    isLeader: voter !== undefined && voter.id === leader,
    ahead: store.aheadOn(id).length,
    maintenance: shownMaintenance(member),
    certificateEnd: member.certificateEnd,
    version,
    since,
  }
}

function shownMaintenance({ maintenance }: Member): ClusterNode['maintenance'] {
  if (maintenance === undefined) return undefined
  const { until: _until, ...shown } = maintenance
  return shown
}
