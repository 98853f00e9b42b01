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
/** The length of a lease that nobody uses. */
const LEASE_S = 2

/**
 * Of two nodes, the one in maintenance has no vote meanwhile, so that the other one goes on without it, at once and
 * without anybody's decision. Its etcd member is removed while both are up, which etcd does only when both agree, so
 * there is one history: the node without a vote cannot take over. Afterwards it gets a new member, which follows until
 * it has everything.
 */
export class SteppingAside {
  readonly #parts: SteppingAsideParts
  #vote: OwnMembership['vote']

  constructor(parts: SteppingAsideParts) {
    this.#parts = parts
    this.#vote = parts.own.vote
  }

  /** It has no member of etcd. */
  get isOut(): boolean {
    return this.#vote === 'out'
  }

  /** The other node may be going on without this one. */
  get mayBeOut(): boolean {
    return this.#vote !== undefined
  }

  /** Whether nothing is left to do before this node may end. */
  get isDone(): boolean {
    return this.isOut || this.#successor() === undefined
  }

  /**
   * `listed`: the members of the etcd that answers. `isSame`: the other node was asked, and has this node's history.
   * Answers whether this node is out.
   */
  async look(listed: readonly EtcdMember[], isSame: boolean): Promise<boolean> {
    const self = listed.find(({ name }) => name === this.#parts.own.nodeId)
    if (this.isOut) {
      // A member that is being started has no name yet.
      if (isSame && this.#parts.members.get(this.#parts.own.nodeId)?.maintenance === undefined) await this.#comeBack()
    } else if (self === undefined) {
      // What has happened to it was begun here, before a crash.
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

  /** The node that goes on meanwhile; undefined if this node has to keep its vote. */
  #successor(): Member | undefined {
    const { members, own, peers } = this.#parts
    const partner = partnerIn(members, own.nodeId)
    if (partner === undefined || members.get(own.nodeId)?.maintenance === undefined) return undefined
    return partner.maintenance === undefined && peers.livenessOf(partner.id).isReachable ? partner : undefined
  }

  /** The other one, where it votes, and leads, so that nobody has to be elected. */
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
   * etcd flushes that a member was removed with what is written next. Until then a power cut would have the other one
   * wait for the vote of this one, so something is written there before this one ends.
   */
  async #goOut(other: EtcdMember): Promise<void> {
    await this.#parts.etcd.leases.grant(LEASE_S, { at: urlOf(other) })
    await this.#keep('out')
    await this.#parts.service.stop()
    this.#parts.messages.info('this node has no vote while it is in maintenance')
  }

  /** What its old member had is of no use: etcd takes nobody back. */
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
