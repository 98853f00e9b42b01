import type { Entry } from '../../storage/config/entry.ts'
import type { SharedStore } from '../../storage/config/shared-store.ts'
import type { MachineClock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { ClusterLog } from '../cluster/cluster-log.ts'
import { levelOf } from '../cluster/levels.ts'
import { SETTLED } from '../cluster/places.ts'
import type { ClusterKeys } from '../cluster/sealing.ts'
import type { EtcdClient } from '../etcd/client.ts'
import type { Member as EtcdMember } from '../etcd/members.ts'
import type { PeerClient } from '../peers/peer-client.ts'
import { AutomaticTakeover } from './automatic-takeover.ts'
import type { ClusterFiles, OwnMembership } from './cluster-files.ts'
import type { EtcdService } from './etcd-service.ts'
import { Histories } from './histories.ts'
import type { Members } from './members.ts'
import { answeringPath, partnerIn } from './partner.ts'
import { aloneWithForce } from './removals.ts'
import { comeBack } from './returning.ts'
import { SteppingAside } from './stepping-aside.ts'
import { Takeovers } from './takeovers.ts'

export interface SuccessionParts {
  readonly own: OwnMembership
  readonly etcd: EtcdClient
  readonly log: Pick<ClusterLog, 'takeOver' | 'caughtUp' | 'halted'>
  readonly keys: ClusterKeys
  readonly peers: Pick<PeerClient, 'forward' | 'livenessOf'>
  readonly store: Pick<SharedStore, 'folding' | 'edit'>
  readonly members: Members
  readonly files: ClusterFiles
  readonly service: EtcdService
  readonly stateFolder: string
  /** Returns a node's API port, according to the configuration. */
  readonly apiPortOf: (nodeId: string) => number
  /** Returns why the node at this address may be cut off, as half a sentence. */
  readonly cutOff: (host: string) => Promise<string | undefined>
  /** Ends what was put together. */
  readonly beginAnew: () => void
  readonly clock: MachineClock
  readonly messages: Log
}

const PATIENCE_MS = 1_500

/** Decides which of two parted nodes continues the cluster, and how the other one returns. */
export class Succession {
  readonly takeovers: Takeovers
  readonly histories: Histories
  readonly aside: SteppingAside
  readonly #parts: SuccessionParts
  readonly #automatic: AutomaticTakeover
  #isReturning: boolean
  #hasCaughtUp = false
  /** Epoch in which both of two nodes vote. */
  #shared: number | undefined

  constructor(parts: SuccessionParts) {
    this.#parts = parts
    const { own, messages: log } = parts
    this.takeovers = new Takeovers(parts)
    this.histories = new Histories({ ...parts, log })
    this.aside = new SteppingAside(parts)
    this.#automatic = new AutomaticTakeover({
      ...parts,
      self: own.nodeId,
      takeovers: this.takeovers,
      cutOff: () => parts.cutOff(own.host),
      log,
    })
    this.#isReturning = own.isReturning === true
    void parts.log.caughtUp.then(() => (this.#hasCaughtUp = true))
  }

  /** Whether this node has lost its etcd member, and has no new one yet. */
  get hasNoMember(): boolean {
    return this.#isReturning || this.aside.isOut
  }

  /** Whether this node is about to restart, to take over other nodes' state. */
  get givesWay(): boolean {
    return this.histories.givesWay
  }

  /** @throws {ApiError} if the entry must not be written now. */
  admit(entry: Entry): void {
    if (levelOf(entry) > this.#parts.members.level)
      throw new ApiError('NOT_SUPPORTED', 'This is not possible until all nodes of the cluster have this version')
    this.takeovers.admit(entry)
    this.histories.admit(entry)
  }

  /**
   * Makes the last entry safe on both of two nodes. Either may have to continue alone with what is on its disk, where
   * an entry is stored before it is committed: etcd stores the commitment with the next entry, and drops uncommitted
   * entries when it is forced to be alone. So no request is answered before both nodes have a next entry.
   */
  async settle(): Promise<void> {
    const { members, etcd, own } = this.#parts
    if (this.takeovers.isUnderWay || partnerIn(members, own.nodeId) === undefined) return
    // The other node may have been given its vote since the last look.
    this.#shared ??= this.#sharedIn(await etcd.members.list({ timeout_ms: PATIENCE_MS }))
    if (this.#shared !== members.epoch) return
    await etcd.put(SETTLED, '', { timeout_ms: PATIENCE_MS })
  }

  /** Continues an interrupted takeover. */
  goOn(): Promise<void> {
    return this.takeovers.look()
  }

  /** Returns whether this node is separate from `listed`: the members of the etcd that answers, if one does. */
  async look(listed: readonly EtcdMember[] | undefined): Promise<boolean> {
    // A member that cannot list the voters now may be able to a moment later.
    if (listed !== undefined) this.#shared = this.#sharedIn(listed)
    const isFit = !this.#isFollower && this.#parts.log.halted === undefined
    if (isFit) await this.#automatic.look(listed !== undefined)
    if (this.#isReturning) {
      if (listed !== undefined) await this.#comeBack()
      return true
    }
    const isSame = await this.histories.look(listed)
    if (listed === undefined || this.givesWay) return this.givesWay
    return await this.aside.look(listed, isSame && this.#hasCaughtUp)
  }

  /**
   * Takes over because a person says that the partner is off.
   *
   * @throws {ApiError} INVALID_BODY, IN_USE, NOT_SUPPORTED.
   */
  async takeOver(
    partnerIsOff: string,
    how: { readonly by: string; readonly reason: string; readonly isForced: boolean },
  ) {
    const { members, own, etcd, peers, apiPortOf } = this.#parts
    const partner = partnerIn(members, own.nodeId)
    const listed = await etcd.members.list({ timeout_ms: PATIENCE_MS }).catch(() => undefined)
    if (partner === undefined) {
      const way = listed === undefined ? aloneWithForce(own.nodeId) : 'changes can be made: remove nodes that are lost'
      throw wrongPartner('NOT_A_PAIR', `only one of two nodes without a witness can take the cluster over; ${way}`)
    }
    if (this.#isFollower) {
      const message = `The vote of this node was removed, so only ${partner.name} has the changes since then; ${aloneWithForce(own.nodeId)}`
      throw new ApiError('IN_USE', message)
    }
    if (partner.name !== partnerIsOff) throw wrongPartner('OTHER_NAME', `the other node is called ${partner.name}`)
    if (listed !== undefined)
      throw new ApiError(
        'IN_USE',
        'Changes can be made, so there is nothing to take over; GET /cluster shows the nodes',
      )
    const path = await answeringPath({ etcd, peers, apiPortOf }, partner)
    if (path !== undefined && !how.isForced) {
      const message = `${partner.name} is not off: ${path} answers. Switch it off, or send force if it cannot go on`
      throw new ApiError('IN_USE', message)
    }
    await this.takeovers.takeOver(how)
  }

  /** Whether the other node has the history, whatever this one has. */
  get #isFollower(): boolean {
    return this.#isReturning || this.aside.mayBeOut
  }

  /** Discards an etcd member that has ended: the next looks create a new one. */
  async replaceMember(): Promise<void> {
    const { files } = this.#parts
    await files.change({ isReturning: true })
    this.#isReturning = true
    await files.wipeEtcd()
  }

  async #comeBack(): Promise<void> {
    // Until it has caught up, the node does not know which history its member will join.
    if (!this.#hasCaughtUp) return
    await comeBack(this.#parts)
    this.#isReturning = false
    await this.#parts.service.start()
  }

  #sharedIn(listed: readonly EtcdMember[]): number | undefined {
    const { members, own } = this.#parts
    const isVoting = (id: string) => listed.some(({ name, isLearner }) => name === id && !isLearner)
    const partner = partnerIn(members, own.nodeId)
    if (partner === undefined || !isVoting(partner.id) || !isVoting(own.nodeId)) return undefined
    return members.epoch
  }
}

const wrongPartner = (code: string, message: string) =>
  new ApiError('INVALID_BODY', `partnerIsOff: ${message}`, { errors: [{ field: 'partnerIsOff', code, message }] })
