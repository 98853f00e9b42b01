import type { Entry } from '../../storage/config/entry.ts'
import type { MachineClock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import type { ClusterLog } from '../cluster/cluster-log.ts'
import { levelOf } from '../cluster/levels.ts'
import { refused } from '../cluster/refusals.ts'
import type { EtcdClient } from '../etcd/client.ts'
import { FORCED_NEW } from '../etcd/member.ts'
import type { ClusterFiles, OwnMembership } from './cluster-files.ts'
import { answers } from './etcd-ground.ts'
import type { EtcdService } from './etcd-service.ts'
import type { Members } from './members.ts'
import { clientUrl, peerUrl } from './node-address.ts'

export interface TakeoversParts {
  readonly own: OwnMembership
  readonly etcd: Pick<EtcdClient, 'range'> & { readonly members: Pick<EtcdClient['members'], 'list'> }
  readonly log: Pick<ClusterLog, 'takeOver' | 'halted'>
  readonly members: Members
  readonly files: ClusterFiles
  readonly service: Pick<EtcdService, 'restart' | 'argumentsOf'>
  readonly clock: Pick<MachineClock, 'now_ms'>
  readonly messages: Log
}

export interface AskedTakeover {
  /** `fulcrum` for automatic takeovers. */
  readonly by: string
  readonly reason: string
}

const STATUS_PATIENCE_MS = 1_500

/**
 * Makes a cluster of this node's etcd member alone when its partner is gone. The takeover is recorded in a file before
 * etcd is restarted, so a start after a crash continues or drops it, depending on etcd's list of members.
 */
export class Takeovers {
  readonly #parts: TakeoversParts
  #isUnderWay: boolean

  constructor(parts: TakeoversParts) {
    this.#parts = parts
    this.#isUnderWay = parts.files.read()?.takingOver !== undefined
  }

  get isUnderWay(): boolean {
    return this.#isUnderWay
  }

  /** Only the entry that begins the next history may be written. */
  admit({ op }: Pick<Entry, 'op'>): void {
    if (this.#isUnderWay && op !== 'takeover') throw refused('it is taking over the cluster; try again in a moment')
  }

  /**
   * Must not run during a look.
   *
   * @throws {ApiError} NOT_SUPPORTED, when etcd does not start, or nodes of this cluster do not support takeovers yet;
   * NO_QUORUM, when this node's state differs from the others': it must not be the one that stays.
   */
  async takeOver({ by, reason }: AskedTakeover): Promise<void> {
    const { members, files, clock, log } = this.#parts
    if (log.halted !== undefined) throw refused(log.halted)
    if (members.level < levelOf({ op: 'takeover' })) {
      const message = 'A node of this cluster has never run a version with takeovers, so none is possible'
      throw new ApiError('NOT_SUPPORTED', message)
    }
    await this.#refuseThird()
    const [epoch, at] = [members.epoch + 1, new Date(clock.now_ms()).toISOString()]
    this.#isUnderWay = true
    try {
      await files.change({ takingOver: { id: newId(), epoch, at, by, reason } })
      await this.#force()
    } catch (error) {
      // The member may be alone all the same.
      await this.look()
      throw error
    }
    await this.#finish()
  }

  /** Completes or drops an interrupted takeover. */
  async look(): Promise<void> {
    if (!this.#isUnderWay) return
    const { files, etcd, own } = this.#parts
    if (files.hasArgument(FORCED_NEW)) await this.#keepArguments(false)
    const options = { isSerializable: true, at: clientUrl(own), timeout_ms: STATUS_PATIENCE_MS }
    const listed = await etcd.members.list(options).catch(() => undefined)
    // The member is starting.
    if (listed === undefined) return
    if (listed.some(({ name }) => name !== own.nodeId)) return await this.#drop()
    await this.#finish()
  }

  /** The log may not show a voter yet that etcd counts, and with which the partner continues. */
  async #refuseThird(): Promise<void> {
    const { etcd, own, members } = this.#parts
    const options = { isSerializable: true, at: clientUrl(own), timeout_ms: STATUS_PATIENCE_MS }
    const listed = await etcd.members.list(options).catch(() => [])
    const third = listed.find((one) => !one.isLearner && one.name !== own.nodeId && members.get(one.name) === undefined)
    if (third === undefined) return
    throw new ApiError('IN_USE', `etcd has a third vote (${third.name}): with it, the other node may continue`)
  }

  async #force(): Promise<void> {
    const { service, etcd, own } = this.#parts
    await this.#keepArguments(true)
    try {
      await service.restart()
      await answers({ range: (span) => etcd.range(span, { at: clientUrl(own) }) })
    } finally {
      await this.#keepArguments(false)
    }
  }

  /** The argument counts for one start only: later it would drop members that have returned. */
  async #keepArguments(isForcedNew: boolean): Promise<void> {
    const { files, service, own } = this.#parts
    const members = { [own.nodeId]: [peerUrl(own)] }
    await files.keepArguments(service.argumentsOf(own, members, 'existing', { isForcedNew }))
  }

  /** Drops the takeover: the partner is still an etcd member, so nothing has happened. */
  async #drop(): Promise<void> {
    await this.#parts.files.change({ takingOver: undefined })
    this.#isUnderWay = false
  }

  async #finish(): Promise<void> {
    const { files, members, log, own, messages } = this.#parts
    const takingOver = files.read()?.takingOver
    if (takingOver !== undefined) {
      const { id, epoch, by, reason } = takingOver
      if (members.takeovers().every((known) => known.id !== id))
        await log.takeOver({ ...takingOver, nodeId: own.nodeId })
      await files.change({ takingOver: undefined, epoch })
      messages.warn('this node has taken over the cluster', { epoch, by, reason })
    }
    this.#isUnderWay = false
  }
}
