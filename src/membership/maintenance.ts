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
  readonly members: Pick<Members, 'all' | 'get' | 'change'>
  /** Whether this daemon is taking its machine down or changing its packages. */
  readonly isAtWork: () => boolean
  readonly clock: Pick<MachineClock, 'now_ms' | 'bootId'>
  readonly wait: (ms: number) => Promise<unknown>
  readonly log: Log
}

type ClusterInHand = Pick<JoinedCluster, 'own' | 'etcd' | 'ownStatus' | 'hasQuorum'> & {
  readonly peers: Pick<JoinedCluster['peers'], 'livenessOf'>
  readonly succession: { readonly aside: Pick<JoinedCluster['succession']['aside'], 'isDone'> }
}

const LOOK_EVERY_MS = 1_000
const SETTLE_EVERY_MS = 100
/** Leadership and a vote move within some seconds. A delay is no reason to stay. */
const SETTLE_LOOKS_MAX = 150

/**
 * Maintenance of a node: while it lasts, its etcd member does not lead, so that its end causes no election, and of two
 * nodes the other one votes alone (`SteppingAside`). Work of this daemon on its own machine begins and ends maintenance
 * automatically; if a person has begun it, a person must end it.
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
      throw new ApiError('NOT_FOUND', 'This node is not in a cluster; create one first')
    const since = new Date(this.#parts.clock.now_ms()).toISOString()
    await this.#change(nodeId, enabled ? { since, by, ...(reason === undefined ? {} : { reason }) } : undefined)
  }

  /**
   * Begins maintenance for the daemon's work on its own machine; resolves when the others can continue without it.
   * Without a quorum it is not announced, and does not wait.
   *
   * @throws {ApiError} IN_USE, while another node is in maintenance; not if forced.
   */
  async begin(reason: string, isForced: boolean): Promise<void> {
    const { cluster, members, wait, log } = this.#parts
    const joined = cluster()
    if (joined === undefined || !joined.hasQuorum || members.get(joined.own.nodeId) === undefined) return
    try {
      await this.#tell(joined.own.nodeId, reason, isForced)
      for (let look = 0; look < SETTLE_LOOKS_MAX; look++) {
        if ((await this.#giveLeadershipAway(joined, true)) && joined.succession.aside.isDone) return
        await wait(SETTLE_EVERY_MS)
      }
      log.warn('this node goes down while it still votes, or is the leader')
    } catch (error) {
      if (error instanceof ApiError && error.code === 'IN_USE') throw error
      log.warn('the cluster could not be informed of the maintenance', { reason: String(error) })
    }
  }

  /** Announces maintenance. One that a person has begun stays as it is. */
  async #tell(nodeId: string, reason: string, isForced: boolean): Promise<void> {
    const { members, clock } = this.#parts
    if (members.get(nodeId)?.maintenance !== undefined) return
    const since = new Date(clock.now_ms()).toISOString()
    const maintenance = { since, by: 'fulcrum', reason, until: clock.bootId }
    let other: Member | undefined
    await members.change(nodeId, (member) => {
      other = members.all().find(({ id, maintenance: worked }) => id !== nodeId && worked !== undefined)
      return other === undefined || isForced ? { ...member, maintenance } : undefined
    })
    if (other !== undefined && !isForced)
      throw new ApiError('IN_USE', `The node ${other.name} is in maintenance, and only one node at a time may be`)
  }

  /** Gives leadership away, and begins and ends the daemon's own maintenance. */
  async look(): Promise<void> {
    const { cluster, members, isAtWork, clock } = this.#parts
    const joined = cluster()
    const own = joined && members.get(joined.own.nodeId)
    if (joined === undefined || own === undefined) return
    const { maintenance } = own
    const isOver = maintenance?.until !== undefined && (maintenance.until !== clock.bootId || !isAtWork())
    if (isOver) return await this.#change(own.id, undefined)
    if (maintenance === undefined && isAtWork()) await this.#tell(own.id, 'work on the machine', true)
    else if (maintenance === undefined) return
    await this.#giveLeadershipAway(joined, false)
  }

  /**
   * Moves leadership to a reachable voter that is not in maintenance. If there is none, a departing node gives it to
   * any voter; two nodes that stay would pass it to each other forever. Returns whether nothing is left to give, or no
   * node can take it.
   */
  async #giveLeadershipAway(joined: ClusterInHand, goesAway: boolean): Promise<boolean> {
    const { own, etcd, peers } = joined
    const status = await joined.ownStatus()
    if (status === undefined || status.leader !== status.memberId) return true
    const isNode = (id: string) => this.#parts.members.get(id) !== undefined
    const voters = (await etcd.members.list()).filter(
      ({ name, isLearner }) => !isLearner && name !== own.nodeId && isNode(name) && peers.livenessOf(name).isReachable,
    )
    const free = voters.find(({ name }) => this.#parts.members.get(name)?.maintenance === undefined)
    const next = free ?? (goesAway ? voters[0] : undefined)
    if (next === undefined) return true
    await etcd.maintenance.moveLeader(next.id)
    this.#parts.log.info('another etcd member leads, because this node is in maintenance', { nodeId: next.name })
    return false
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
