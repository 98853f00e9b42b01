import type { SharedStore } from '../../storage/config/shared-store.ts'
import { addressText } from '../base/socket-address.ts'
import type { ClusterNode, ClusterState, ClusterWitness, PartedHistories } from '../context/cluster.ts'
import type { Member as EtcdMember } from '../etcd/members.ts'
import type { OwnMembership } from './cluster-files.ts'
import type { Member, Members, Voter } from './members.ts'

export interface ShownParts {
  readonly own: OwnMembership
  readonly store: Pick<SharedStore, 'aheadOn'>
  readonly members: Members
  readonly log: { readonly position: number; readonly halted: string | undefined }
  readonly histories: { readonly parted: PartedHistories | undefined }
  /** The etcd members according to one that answers; undefined if none does. */
  readonly listed: readonly EtcdMember[] | undefined
  /** Id of the leading member; undefined if the own member does not answer. */
  readonly leader: string | undefined
  readonly removedAt: string | undefined
  /** Whether a takeover is in progress, during which nothing can be changed. */
  readonly isTakingOver: boolean
  readonly stateOf: (nodeId: string) => ClusterNode['state']
}

/** Returns the state of the cluster for people. */
export function shownState(parts: ShownParts): ClusterState {
  const { own, log, histories, members, leader, removedAt, isTakingOver } = parts
  const { pair } = members
  return {
    id: own.clusterId,
    name: own.name,
    epoch: members.epoch,
    quorum: leader !== undefined && leader !== '0' && !isTakingOver,
    sequence: log.position,
    halted: log.halted,
    removedAt,
    preferredNode: pair?.preferredNode,
    takeoverAfter: pair?.takeoverAfter_s,
    histories: histories.parted,
    nodes: shownMembers(parts).map((member) => shownNode(parts, member)),
    witness: members.witness && shownVoter(parts, members.witness),
    spareVotes: spareVotes(parts),
  }
}

type Shown = Voter & Pick<Member, 'maintenance'>

/** A node that knows of its own removal is listed until it is a single node, because people look for it there. */
function shownMembers({ own, members, removedAt }: ShownParts): readonly Shown[] {
  const all = members.all()
  if (removedAt === undefined || all.some(({ id }) => id === own.nodeId)) return all
  const gone = members.removed().findLast(({ member }) => member.id === own.nodeId)
  return gone === undefined ? all : [...all, gone.member]
}

/** Returns how many more members answer than the majority that every change needs. */
function spareVotes({ own, listed = [], leader, stateOf }: ShownParts): number {
  const voters = listed.filter(({ isLearner }) => !isLearner)
  const answers = (id: string) => (id === own.nodeId ? leader !== undefined : stateOf(id) === 'online')
  const majority = Math.floor(voters.length / 2) + 1
  return Math.max(0, voters.filter(({ name }) => answers(name)).length - majority)
}

function shownVoter({ listed, leader, stateOf }: ShownParts, voter: Voter): ClusterWitness {
  const { id, name, version, since, certificateEnd } = voter
  const member = listed?.find((one) => one.name === id)
  return {
    id,
    name,
    address: addressText(voter),
    state: stateOf(id),
    isVoter: member?.isLearner === false,
    isLeader: member !== undefined && member.id === leader,
    certificateEnd,
    version,
    since,
  }
}

const shownNode = (parts: ShownParts, member: Shown): ClusterNode => ({
  ...shownVoter(parts, member),
  isSelf: member.id === parts.own.nodeId,
  ahead: parts.store.aheadOn(member.id).length,
  maintenance: shownMaintenance(member),
})

function shownMaintenance({ maintenance }: Shown): ClusterNode['maintenance'] {
  if (maintenance === undefined) return undefined
  const { until: _until, ...shown } = maintenance
  return shown
}
