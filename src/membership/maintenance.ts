import type { MachineClock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { Repeated } from '../base/repeated.ts'
import type { MaintenanceActor, MaintenanceChange } from '../context/cluster.ts'
import type { JoinedCluster } from './joined-cluster.ts'
import type { Member, Members } from './members.ts'

export interface MaintenanceParts {
  /** undefined while this node is in no cluster. */
  readonly cluster: () => ClusterInHand | undefined
  readonly members: Pick<Members, 'get' | 'change'>
  /** Whether this daemon takes its machine down or changes its packages right now. */
  readonly isAtWork: () => boolean
  readonly clock: Pick<MachineClock, 'now_ms' | 'bootId'>
  readonly log: Log
}

type ClusterInHand = Pick<JoinedCluster, 'own' | 'etcd' | 'ownStatus'> & {
  readonly peers: Pick<JoinedCluster['peers'], 'livenessOf'>
}

const LOOK_EVERY_MS = 1_000

/**
 * A node that somebody works on: while it lasts, its member of etcd does not lead, so that its end is no election.
 * Work that this daemon does itself on its machine begins and ends it; what a person has begun, a person ends.
 */
export class Maintenance implements MaintenanceActor {
  readonly #parts: MaintenanceParts
  readonly #looks: Repeated

  constructor(parts: MaintenanceParts) {
    this.#parts = parts
    this.#looks = new Repeated('maintenance', () => this.look(), LOOK_EVERY_MS, parts.log)
  }

  start(): void {
    this.#looks.start()
  }

  close(): void {
    this.#looks.stop()
  }

  async set(nodeId: string, { enabled, reason }: MaintenanceChange, by: string): Promise<void> {
    if (this.#parts.cluster() === undefined)
      throw new ApiError('NOT_FOUND', 'This node is in no cluster; form one first')
    const since = new Date(this.#parts.clock.now_ms()).toISOString()
    await this.#change(nodeId, enabled ? { since, by, ...(reason === undefined ? {} : { reason }) } : undefined)
  }

  /** For work of the daemon on its own machine; resolves when another member leads. Does not fail. */
  async begin(reason: string): Promise<void> {
    const { cluster, members, clock, log } = this.#parts
    const own = cluster()?.own
    if (own === undefined || members.get(own.nodeId)?.maintenance !== undefined) return
    try {
      const since = new Date(clock.now_ms()).toISOString()
      await this.#change(own.nodeId, { since, by: 'fulcrum', reason, until: clock.bootId })
      await this.look()
    } catch (error) {
      log.warn('the cluster is not told of the maintenance', { reason: String(error) })
    }
  }

  /** Gives leadership away, and begins and ends what the daemon does itself. */
  async look(): Promise<void> {
    const { cluster, members, isAtWork, clock } = this.#parts
    const joined = cluster()
    const own = joined && members.get(joined.own.nodeId)
    if (joined === undefined || own === undefined) return
    const { maintenance } = own
    const isOver = maintenance?.until !== undefined && (maintenance.until !== clock.bootId || !isAtWork())
    if (isOver) return await this.#change(own.id, undefined)
    if (maintenance === undefined) return isAtWork() ? await this.begin('work on the machine') : undefined
    await this.#giveLeadershipAway(joined)
  }

  /** To a voter that is reached, and that nobody works on if there is one. */
  async #giveLeadershipAway(joined: ClusterInHand): Promise<void> {
    const { own, etcd, peers } = joined
    const status = await joined.ownStatus()
    if (status === undefined || status.leader !== status.memberId) return
    const isNode = (id: string) => this.#parts.members.get(id) !== undefined
    const voters = (await etcd.members.list()).filter(
      ({ name, isLearner }) => !isLearner && name !== own.nodeId && isNode(name) && peers.livenessOf(name).isReachable,
    )
    const free = voters.find(({ name }) => this.#parts.members.get(name)?.maintenance === undefined)
    const next = free ?? voters[0]
    if (next === undefined) return
    await etcd.maintenance.moveLeader(next.id)
    this.#parts.log.info('another member of etcd leads, as this node is in maintenance', { nodeId: next.name })
  }

  async #change(nodeId: string, maintenance: Member['maintenance']): Promise<void> {
    const { members } = this.#parts
    const before = members.get(nodeId)
    if (before !== undefined && before.maintenance === maintenance) return
    const isThere = await members.change(nodeId, ({ maintenance: _before, ...member }) =>
      maintenance === undefined ? member : { ...member, maintenance },
    )
    if (!isThere) throw new ApiError('NOT_FOUND', `There is no node with id ${nodeId}`)
  }
}
