import type { EtcdClient } from '../etcd/client.ts'
import type { Member as EtcdMember } from '../etcd/members.ts'
import type { Log } from '../base/log.ts'
import type { PeerClient } from '../peers/peer-client.ts'
import type { ClusterFiles, OwnMembership } from './cluster-files.ts'
import type { EtcdService } from './etcd-service.ts'
import type { Member, Members } from './members.ts'
import { clientUrl } from './node-address.ts'
import { partnerIn } from './partner.ts'
import { comeBack } from './returning.ts'

export interface SteppingAsideParts {
  readonly own: OwnMembership
  readonly etcd: {
    readonly members: Pick<EtcdClient['members'], 'list' | 'add' | 'remove'>
    readonly leases: Pick<EtcdClient['leases'], 'grant'>
    readonly maintenance: Pick<EtcdClient['maintenance'], 'status'>
  }
  readonly members: Pick<Members, 'all' | 'get' | 'epoch' | 'mayVote'>
  readonly peers: Pick<PeerClient, 'livenessOf'>
  readonly files: Pick<ClusterFiles, 'change' | 'keepArguments' | 'wipeEtcd'>
  readonly service: Pick<EtcdService, 'argumentsOf' | 'start' | 'stop'>
  readonly messages: Log
}

const STATUS_PATIENCE_MS = 1_500
/** Length of a lease that is not used. */
const LEASE_S = 2

/**
 * Removes the vote of a node in maintenance, if there are two nodes, so that the other one continues alone, at once and
 * without a decision. Its etcd member is removed while both are up, which etcd does only if both agree, so there is one
 * history: the node without a vote cannot take over. Afterwards it gets a new member, which follows until it has
 * everything.
 */
export class SteppingAside {
  readonly #parts: SteppingAsideParts
  #vote: OwnMembership['vote']

  constructor(parts: SteppingAsideParts) {
    this.#parts = parts
    this.#vote = parts.own.vote
  }

  /** Whether this node has no etcd member. */
  get isOut(): boolean {
    return this.#vote === 'out'
  }

  /** Whether the other node may be continuing without this one. */
  get mayBeOut(): boolean {
    return this.#vote !== undefined
  }

  /** Whether nothing is left to do before this node may end. */
  get isDone(): boolean {
    return this.isOut || this.#successor() === undefined
  }

  /**
   * `listed`: the members of the etcd that answers. `isSame`: the other node was asked, and has this node's history.
   * Returns whether this node is out.
   */
  async look(listed: readonly EtcdMember[], isSame: boolean): Promise<boolean> {
    const self = listed.find(({ name }) => name === this.#parts.own.nodeId)
    if (this.isOut) {
      // A member that is starting has no name yet.
      if (isSame && this.#parts.members.get(this.#parts.own.nodeId)?.maintenance === undefined) await this.#comeBack()
    } else if (self === undefined) {
      // This node's own removal was interrupted by a crash.
      const [other] = listed
      if (this.mayBeOut && isSame && other !== undefined) await this.#goOut(other)
    } else {
      const other = await this.#whoGoesOn(self, listed)
      if (other !== undefined) {
        await this.#keep('leaving')
        await this.#parts.etcd.members.remove(self.id, { at: urlOf(other) })
        await this.#goOut(other)
      } else if (this.mayBeOut && this.#successor() === undefined) await this.#keep(undefined)
    }
    return this.isOut
  }

  /** Returns the node that continues in the meantime; undefined if this node must keep its vote. */
  #successor(): Member | undefined {
    const { members, own, peers } = this.#parts
    const partner = partnerIn(members, own.nodeId)
    if (partner === undefined || members.get(own.nodeId)?.maintenance === undefined) return undefined
    return partner.maintenance === undefined && peers.livenessOf(partner.id).isReachable ? partner : undefined
  }

  /** Returns the other member, if it votes and leads, so that no election is needed. */
  async #whoGoesOn(self: EtcdMember, listed: readonly EtcdMember[]): Promise<EtcdMember | undefined> {
    const successor = this.#successor()
    const other = listed.find(({ name }) => name === successor?.id)
    if (other === undefined || other.isLearner || self.isLearner) return undefined
    const at = clientUrl(this.#parts.own)
    const status = await this.#parts.etcd.maintenance
      .status({ at, timeout_ms: STATUS_PATIENCE_MS })
      .catch(() => undefined)
    return status?.leader === other.id ? other : undefined
  }

  /**
   * etcd flushes the removal of a member only with the next write. Until then, after a power cut the other node would
   * wait for this node's vote, so something is written there before this one ends.
   */
  async #goOut(other: EtcdMember): Promise<void> {
    await this.#parts.etcd.leases.grant(LEASE_S, { at: urlOf(other) })
    await this.#keep('out')
    await this.#parts.service.stop()
    this.#parts.messages.info('this node has no vote while it is in maintenance')
  }

  /** Replaces the old member, whose data are useless: etcd never takes a member back. */
  async #comeBack(): Promise<void> {
    const { files, service, messages } = this.#parts
    await service.stop()
    await files.wipeEtcd()
    await comeBack(this.#parts)
    this.#vote = undefined
    await service.start()
    messages.info('this node gets its vote back when it has caught up')
  }

  async #keep(vote: OwnMembership['vote']): Promise<void> {
    await this.#parts.files.change({ vote })
    this.#vote = vote
  }
}

const urlOf = ({ clientUrls }: EtcdMember): string => clientUrls[0] ?? ''
