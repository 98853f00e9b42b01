import { ApiError } from '../base/errors.ts'
import type { AskedTakeover, PairActor, PairChange } from '../context/cluster.ts'
import type { JoinedCluster } from './joined-cluster.ts'
import type { Members } from './members.ts'
import { partnerIn } from './partner.ts'

/** Default until an administrator chooses. */
const AFTER_S = 30

export interface PairParts {
  /** undefined while this node is in no cluster. */
  readonly cluster: () => ClusterOfTwo | undefined
  readonly members: Pick<Members, 'all' | 'get' | 'mayVote' | 'pair' | 'setPair'>
}

export type ClusterOfTwo = Pick<JoinedCluster, 'betweenLooks'> & {
  readonly own: Pick<JoinedCluster['own'], 'nodeId'>
  readonly succession: {
    takeOver(...asked: Parameters<JoinedCluster['succession']['takeOver']>): Promise<void>
    readonly histories: Pick<JoinedCluster['succession']['histories'], 'resolve'>
  }
}

/** People's decisions where two nodes have no third vote. */
export class Pair implements PairActor {
  readonly #parts: PairParts

  constructor(parts: PairParts) {
    this.#parts = parts
  }

  async prefer({ preferredNode, takeoverAfter }: PairChange): Promise<void> {
    const { members } = this.#parts
    const { own } = this.#inCluster()
    if (preferredNode === null) return await members.setPair(undefined)
    if (partnerIn(members, own.nodeId) === undefined)
      throw wrong(
        'NOT_A_PAIR',
        'a preferred node is for clusters with two votes; in a larger one, the other nodes or a witness outvote a failed node',
      )
    if (members.get(preferredNode) === undefined) {
      const known = members.all().map(({ id, name }) => `${id} (${name})`)
      throw wrong('UNKNOWN_NODE', `the cluster has the nodes ${known.join(' and ')}`)
    }
    const kept = takeoverAfter === undefined ? members.pair?.takeoverAfter_s : takeoverAfter
    const takeoverAfter_s = kept ?? AFTER_S
    await members.setPair({ preferredNode, takeoverAfter_s })
  }

  async takeOver({ partnerIsOff, ...how }: AskedTakeover): Promise<void> {
    const cluster = this.#inCluster()
    // Otherwise a look would start etcd in the middle of it.
    await cluster.betweenLooks(() => cluster.succession.takeOver(partnerIsOff, how))
  }

  async resolve(keep: string): Promise<void> {
    await this.#inCluster().succession.histories.resolve(keep)
  }

  #inCluster(): ClusterOfTwo {
    const cluster = this.#parts.cluster()
    if (cluster === undefined) throw new ApiError('NOT_FOUND', 'This node is not in a cluster; create one first')
    return cluster
  }
}

const wrong = (code: string, message: string) =>
  new ApiError('INVALID_BODY', `preferredNode: ${message}`, { errors: [{ field: 'preferredNode', code, message }] })
