import { ApiError } from '../base/errors.ts'
import type { Addresses } from './addresses.ts'
import type { JoinedCluster } from './joined-cluster.ts'
import type { Maintenance } from './maintenance.ts'
import type { Members } from './members.ts'

export interface DepartureParts {
  readonly nodeId: string
  /** undefined while this node is in no cluster. */
  readonly cluster: () => Pick<JoinedCluster, 'hasQuorum' | 'isReachable'> | undefined
  readonly members: Pick<Members, 'all' | 'get' | 'voters'>
  readonly maintenance: Pick<Maintenance, 'begin'>
  readonly addresses: Pick<Addresses, 'whyStuck' | 'leave'>
}

const WAY_ON = 'send force=true to proceed anyway'

/**
 * Prepares the departure of a node whose machine goes down, or whose programs are replaced, so that the others continue
 * without a gap.
 */
export class Departure {
  readonly #parts: DepartureParts

  constructor(parts: DepartureParts) {
    this.#parts = parts
  }

  /**
   * Called before anything is done.
   *
   * @throws {ApiError} IN_USE, if the others could not go on without this node.
   */
  async refuse(isForced: boolean): Promise<void> {
    if (isForced || this.#parts.cluster() === undefined) return
    const why = this.#whyNotNow() ?? (await this.#parts.addresses.whyStuck())
    if (why !== undefined) throw new ApiError('IN_USE', `${why}; ${WAY_ON}`)
  }

  /**
   * Resolves when this node has neither leadership nor, of two, a vote, and its floating IPs are on other nodes.
   *
   * @throws {ApiError} IN_USE, if another node was first, or no node takes them; not if forced.
   */
  async begin(reason: string, isForced: boolean): Promise<void> {
    const { maintenance, addresses } = this.#parts
    await maintenance.begin(reason, isForced)
    const left = await addresses.leave()
    if (left.length > 0 && !isForced)
      throw new ApiError('IN_USE', `No other node has taken over ${left.join(' and ')}; ${WAY_ON}`)
  }

  #whyNotNow(): string | undefined {
    const { nodeId, cluster, members } = this.#parts
    const others = members.all().filter(({ id }) => id !== nodeId)
    const maintained = others.find(({ maintenance }) => maintenance !== undefined)
    if (maintained !== undefined)
      return `The node ${maintained.name} is in maintenance, and only one node at a time may be`
    const [joined, voters] = [cluster(), members.voters()]
    // If nothing can be changed now, nothing is lost; of two nodes, the remaining one votes alone.
    if (joined?.hasQuorum !== true || voters.length < 3) return undefined
    const otherVoters = voters.filter(({ id }) => id !== nodeId)
    const reached = otherVoters.filter(({ id }) => joined.isReachable(id))
    if (reached.length > voters.length / 2) return undefined
    const away = otherVoters.filter((other) => !reached.includes(other)).map(({ name }) => name)
    return `Without this node no changes would be possible, because ${away.join(' and ')} does not answer`
  }
}
