import type { MachineClock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { ClusterLog } from '../cluster/cluster-log.ts'
import { noQuorum } from '../cluster/refusals.ts'
import type { ClusterKeys } from '../cluster/sealing.ts'
import type { EtcdClient } from '../etcd/client.ts'
import { EtcdError } from '../etcd/errors.ts'
import type { Member as EtcdMember } from '../etcd/members.ts'
import type { Standing } from '../peers/standing.ts'
import type { OwnMembership } from './cluster-files.ts'
import type { JoinTokens } from './join-tokens.ts'
import { changeKeys } from './key-change.ts'
import type { Member, Members, Removed, Voter } from './members.ts'
import { clientUrl, type NodeAddress, peerUrl } from './node-address.ts'
import { partnerIn } from './partner.ts'
import { patiently } from './patience.ts'

export interface RemovalsParts {
  readonly own: OwnMembership
  readonly etcd: EtcdClient
  readonly keys: ClusterKeys
  readonly log: Pick<ClusterLog, 'seal'>
  readonly tokens: JoinTokens
  readonly members: Members
  /** Whether a node or the witness is reachable. */
  readonly isReachable: (id: string) => boolean
  /** Whether the witness's etcd member follows a leader, which no node can ask the member itself. */
  readonly doesWitnessVote: (id: string) => Promise<boolean>
  /** The removal of this node itself: the others are asked if it does not know whether etcd has released it. */
  readonly standing: () => Promise<Standing | undefined>
  /** Whether an apply over the nodes is running. */
  readonly isApplying: () => boolean
  readonly clock: MachineClock
  readonly messages: Log
  readonly wait: (ms: number) => Promise<unknown>
}

/** The properties by which etcd identifies a member. */
type Place = NodeAddress & Pick<Voter, 'id'>

const STATUS_PATIENCE_MS = 1_500
/** The lifetime of certificates, and a day for differing clocks. */
const REMEMBERED_MS = 366 * 86_400_000

/**
 * Removes nodes from the cluster. The first step is one entry of the log, after which no node answers the removed one.
 * All further steps follow from the current state: if a node ends midway, another one continues.
 */
export class Removals {
  readonly #parts: RemovalsParts
  #finishing: Promise<void> | undefined

  constructor(parts: RemovalsParts) {
    this.#parts = parts
  }

  /**
   * Removes another node, or continues a removal.
   *
   * @throws {ApiError} NOT_FOUND, IN_USE, APPLY_IN_PROGRESS, NO_QUORUM.
   */
  async remove(id: string): Promise<void> {
    const { members } = this.#parts
    const isHalf = members.removed().some(({ member, stage }) => member.id === id && stage !== 'done')
    if (members.voter(id) === undefined && !isHalf) throw unknownNode(id)
    if (members.voter(id) !== undefined) await this.mark(id)
    await inTime(() => this.finish())
  }

  /**
   * Removes this node itself. The others continue as soon as they read of it: they may have changed the key, and
   * locked this node out, before it knows whether its entry is in force.
   *
   * @throws {ApiError} IN_USE, APPLY_IN_PROGRESS, NO_QUORUM.
   */
  async leave(): Promise<void> {
    const { own, members, standing } = this.#parts
    if (members.get(own.nodeId) === undefined) return
    await this.#assertMayGo(own.nodeId)
    await this.#putMark(own.nodeId).catch(async (error: unknown) => {
      if ((await standing()) === undefined) throw error
    })
    // Before the member ends: without it, the remaining ones may be too few.
    await inTime(() => this.leaveEtcd())
  }

  /** Marks the node as removed: from here on it is no longer in the cluster. */
  async mark(id: string): Promise<void> {
    await this.#assertMayGo(id)
    await this.#putMark(id)
  }

  async #assertMayGo(id: string): Promise<void> {
    const { members, isApplying } = this.#parts
    if (this.#isLeaving(id) && members.get(id) !== undefined && isApplying())
      throw new ApiError('APPLY_IN_PROGRESS', 'An apply is running on the nodes; remove the node when it has ended')
    await this.#assertQuorumWithout(id)
  }

  #isLeaving(id: string): boolean {
    const { own, isReachable } = this.#parts
    return id === own.nodeId || isReachable(id)
  }

  async #putMark(id: string): Promise<void> {
    const { members, own, clock, keys } = this.#parts
    const isLeaving = this.#isLeaving(id)
    const at = new Date(clock.now_ms()).toISOString()
    await members.remove(() => {
      const member = members.voter(id)
      if (member === undefined) return undefined
      const mark = { member, stage: 'marked', at, by: own.nodeId, isLeaving, keyId: keys.newestKeyId } as const
      if (members.witness?.id === id) return { ...mark, isWitness: true }
      if (members.all().length === 1) throw lastNode(member)
      const others = members.all().filter((other) => other.id !== id)
      // If there are two, the other one may be giving up its vote at this moment.
      if (members.mayVote().size === 2 && others.some(({ maintenance }) => maintenance !== undefined))
        throw lastVote(member, others)
      return mark
    })
  }

  /** Completes all removals, except for the part that each node does itself. */
  finish(): Promise<void> {
    this.#finishing ??= this.#finishAll().finally(() => (this.#finishing = undefined))
    return this.#finishing
  }

  /** Whether this node must continue a removal: the one that was asked does, or else the eldest reachable one. */
  isOurs({ by }: Pick<Removed, 'by'>): boolean {
    const { members, own } = this.#parts
    return members.get(by) !== undefined && this.#isThere(by) ? by === own.nodeId : this.isEldest
  }

  /** Whether this is the eldest reachable node. */
  get isEldest(): boolean {
    const { members, own } = this.#parts
    return members.all().find(({ id }) => this.#isThere(id))?.id === own.nodeId
  }

  #isThere(id: string): boolean {
    const { members, own, isReachable } = this.#parts
    return id === own.nodeId || (members.get(id) !== undefined && isReachable(id))
  }

  /** Whether a removal is waiting for this node. */
  get isDue(): boolean {
    return this.#parts.members.removed().some((removed) => removed.stage !== 'done' && this.isOurs(removed))
  }

  async #finishAll(): Promise<void> {
    for (const { stage, member } of this.#parts.members.removed())
      if (stage !== 'done') await patiently(this.#parts, () => this.#finishOne(member.pin))
    await this.#forgetOld()
  }

  async #finishOne(pin: string): Promise<void> {
    const { members, log, tokens, messages } = this.#parts
    const removed = members.removalOf(pin)
    if (removed === undefined) return
    const { member } = removed
    await this.#takeOnce(member)
    await tokens.endOf(member.id)
    await this.#advance(pin, 'marked', 'out')
    // A node may have read the keys of its time. A witness never had the key to open them.
    if (removed.isWitness !== true) {
      await changeKeys(this.#parts, removed.keyId)
      await log.seal()
    }
    await this.#advance(pin, 'out', 'done')
    messages.info('it was removed from the cluster', { nodeId: member.id, name: member.name })
  }

  async #advance(pin: string, from: Removed['stage'], to: Removed['stage']): Promise<void> {
    const { members } = this.#parts
    await members.mark(() => {
      const removed = members.removalOf(pin)
      return removed?.stage === from ? { ...removed, stage: to } : undefined
    })
  }

  /** Resolves when this node is no etcd member. No etcd answers a released member, so the others are asked. */
  async leaveEtcd(): Promise<void> {
    const { own, standing } = this.#parts
    await patiently(this.#parts, async () => {
      try {
        await this.#takeOnce({ ...own, id: own.nodeId })
      } catch (error) {
        if (!(error instanceof EtcdError) || (await standing())?.isOut !== true) throw error
      }
    })
  }

  /** Removes a member from etcd, unless it has already left. */
  async #takeOnce(member: Place): Promise<void> {
    const { etcd } = this.#parts
    const found = (await etcd.members.list()).find((one) => isOf(one, member))
    if (found !== undefined) await etcd.members.remove(found.id)
  }

  async #forgetOld(): Promise<void> {
    const { members, clock } = this.#parts
    const isOld = ({ stage, at }: Removed) => stage === 'done' && Date.parse(at) + REMEMBERED_MS < clock.now_ms()
    const pins = members
      .removed()
      .filter(isOld)
      .map(({ member }) => member.pin)
    if (pins.length > 0) await members.forget(pins)
  }

  /** Makes sure that the remaining members form a majority: etcd counts those that answer, not those that are known. */
  async #assertQuorumWithout(id: string): Promise<void> {
    const { etcd, members } = this.#parts
    const listed = await patiently(this.#parts, () => etcd.members.list()).catch((error: unknown) => {
      throw error instanceof EtcdError ? noQuorum(false, false, this.#wayWithoutQuorum(id)) : error
    })
    const isVoter = (member: Voter) => listed.some((one) => isOf(one, member) && !one.isLearner)
    const target = members.voter(id)
    if (target === undefined || !isVoter(target)) return
    const staying = members.voters().filter((member) => member.id !== id && isVoter(member))
    const silent: Voter[] = []
    for (const member of staying) if (!(await this.#answers(member))) silent.push(member)
    const others = members.all().filter((member) => member.id !== id)
    // etcd never removes the last vote.
    if (staying.length === 0 && others.length > 0) throw lastVote(target, others)
    if (staying.length === 0 || staying.length - silent.length > staying.length / 2) return
    const names = silent.map(({ name }) => name).join(', ')
    throw new ApiError(
      'NO_QUORUM',
      `Without ${target.name} too few nodes would answer. Nothing was changed; bring ${names} back, or remove it first`,
    )
  }

  /**
   * Returns the way out without a quorum. A node that will never return is removed only after a takeover without it.
   */
  #wayWithoutQuorum(id: string): string {
    const { own, members } = this.#parts
    if (id === own.nodeId) return 'with force this node becomes a single node, although the others cannot be informed'
    const partner = partnerIn(members, own.nodeId)
    return partner?.id === id
      ? `if ${partner.name} is off for good, PUT /cluster/takeover continues with this node, and ${partner.name} can then be removed`
      : aloneWithForce(own.nodeId)
  }

  async #answers(member: Voter): Promise<boolean> {
    const { etcd, members, doesWitnessVote } = this.#parts
    if (members.witness?.id === member.id) return await doesWitnessVote(member.id)
    const answers = etcd.maintenance.status({ at: clientUrl(member), timeout_ms: STATUS_PATIENCE_MS })
    return (await answers.catch(() => undefined)) !== undefined
  }
}

/** Returns the answer for the former owner of this key. */
export function standingIn(members: Pick<Members, 'removalOf'>, pin: string): Standing | undefined {
  const removed = members.removalOf(pin)
  return removed && { removedAt: removed.at, isLeaving: removed.isLeaving, isOut: removed.stage !== 'marked' }
}

/** A member that has never started has no name. */
const isOf = ({ name, peerUrls }: EtcdMember, member: Place): boolean =>
  name === '' ? peerUrls.includes(peerUrl(member)) : name === member.id

function lastVote({ name }: Voter, others: readonly Member[]): ApiError {
  const ways = others.map((other) =>
    other.maintenance === undefined
      ? `${other.name} has not caught up: wait until it has, or remove it first if it is lost`
      : `${other.name} has no vote while it is in maintenance: end the maintenance first`,
  )
  return new ApiError('IN_USE', `Without ${name} no node would have a vote. ${ways.join('; ')}`)
}

/** The way out when too few of the others will ever return, and no node can take over. */
export const aloneWithForce = (nodeId: string): string =>
  `bring one of the others back; if they are lost for good, DELETE /cluster/nodes/${nodeId}?force=true makes this node a single node, with its current configuration`

/** Converts an error of etcd: unfinished work is not lost, but done later. */
export async function inTime<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof EtcdError)) throw error
    throw new ApiError(
      'NO_QUORUM',
      `Too few nodes of the cluster answer: ${error.message}. Steps that have started continue automatically; GET /cluster shows the progress`,
    )
  }
}

export const unknownNode = (id: string): ApiError =>
  new ApiError('NOT_FOUND', `The cluster has no node with the id ${id}`)

const lastNode = ({ name }: Voter): ApiError =>
  new ApiError(
    'IN_USE',
    `${name} is the last node of the cluster; with force it becomes a single node, and the cluster ends`,
  )
