import type { Clock } from '../base/clock.ts'
import type { Liveness } from '../peers/peer-session.ts'
import type { JoinedCluster } from './joined-cluster.ts'
import type { Member, Members, Voter } from './members.ts'
import type { EventData } from '../model/job.ts'

export interface ClusterWatchParts {
  /** undefined while this node is in no cluster. */
  readonly cluster: () => ClusterSight | undefined
  readonly members: Pick<Members, 'all' | 'takeovers' | 'witness'>
  readonly tell: (data: EventData<'cluster'>) => void
  readonly clock: Pick<Clock, 'monotonic_ms'>
}

/** The part of the cluster that is watched. */
export type ClusterSight = Pick<JoinedCluster, 'hasQuorum' | 'removal'> & {
  readonly own: Pick<JoinedCluster['own'], 'nodeId'>
  readonly log: Pick<JoinedCluster['log'], 'halted'>
  readonly peers: { livenessOf(nodeId: string): Liveness }
  readonly witness: { livenessOf(id: string): Liveness }
  readonly succession: { readonly histories: Pick<JoinedCluster['succession']['histories'], 'parted'> }
}

/** Shorter conditions are not reported: elections and starts take a second or two. */
const STANDS_MS = 5_000
/** Delay for the witness, whose absence matters only when another node fails. */
const WITNESS_STANDS_MS = 60_000
/** Delay for a node that has just joined, because its daemon starts again. */
const JOINING_MS = 60_000

/** An expected state. Its absence is reported after a delay, its return at once. */
class Expected {
  #stands_ms: number
  readonly #later_ms: number
  #wasTold = false
  #since_ms: number | undefined

  /** `first_ms`: the delay until the state was reached for the first time. */
  constructor(first_ms = STANDS_MS, later_ms = STANDS_MS) {
    this.#stands_ms = first_ms
    this.#later_ms = later_ms
  }

  /** Whether there is something to report: the absence or the return of the state. */
  look(isSo: boolean, now_ms: number): boolean {
    if (isSo) this.#stands_ms = this.#later_ms
    this.#since_ms = isSo ? undefined : (this.#since_ms ?? now_ms)
    const isAway = this.#since_ms !== undefined && now_ms - this.#since_ms >= this.#stands_ms
    if (isAway === this.#wasTold || (!isSo && !isAway)) return false
    this.#wasTold = isAway
    return true
  }
}

/**
 * Reports this node's view of the cluster: members that join and leave, which of them are reachable, whether changes
 * can be made.
 */
export class ClusterWatch {
  readonly #parts: ClusterWatchParts
  readonly #reach = new Map<string, Expected>()
  readonly #quorum = new Expected()
  #known: ReadonlyMap<string, Member> | undefined
  /** Undefined before the first look. */
  #witness: { readonly is: Voter | undefined; readonly reach: Expected } | undefined
  #halted: string | undefined
  #epochs: number | undefined
  #isParted = false

  constructor(parts: ClusterWatchParts) {
    this.#parts = parts
  }

  look(): void {
    const { cluster, tell } = this.#parts
    const sight = cluster()
    if (sight === undefined) return
    const { halted } = sight.log
    if (halted !== undefined && halted !== this.#halted)
      tell({ state: sight.removal === undefined ? 'halted' : 'removed', reason: halted })
    this.#halted = halted
    this.#lookWhose(sight)
    // A node that has stopped following the log knows nothing about it.
    if (halted !== undefined) return
    this.#lookWho(sight.own.nodeId)
    this.#lookWhere(sight)
    this.#lookAtWitness(sight)
  }

  /** Reports takeovers and parted histories. Takeovers known at the first look were reported before. */
  #lookWhose({ succession }: ClusterSight): void {
    const { members, tell } = this.#parts
    const takeovers = members.takeovers()
    for (const { epoch, nodeId, by, reason } of takeovers.slice(this.#epochs ?? takeovers.length))
      tell({ state: 'taken over', nodeId, epoch, by, reason })
    this.#epochs = takeovers.length
    const { parted } = succession.histories
    if (parted !== undefined && !this.#isParted) tell({ state: 'histories parted', ...parted })
    if (parted === undefined && this.#isParted) tell({ state: 'histories resolved' })
    this.#isParted = parted !== undefined
  }

  /**
   * Reports nodes that joined or left. Nodes found at the first look are known already. A node that takes another one's
   * place has its id, but another `since`.
   */
  #lookWho(self: string): void {
    const { members, tell } = this.#parts
    const now = new Map(members.all().map((member) => [member.id, member]))
    const before = this.#known ?? now
    this.#known = now
    const isIn = (those: ReadonlyMap<string, Member>, { id, since }: Member) => those.get(id)?.since === since
    for (const member of before.values()) {
      if (isIn(now, member) || member.id === self) continue
      this.#reach.delete(member.id)
      tell({ state: 'node removed', nodeId: member.id, name: member.name })
    }
    for (const member of now.values()) {
      if (isIn(before, member)) continue
      this.#reach.set(member.id, new Expected(JOINING_MS))
      tell({ state: 'node joined', nodeId: member.id, name: member.name })
    }
  }

  #lookAtWitness(sight: ClusterSight): void {
    const { members, clock, tell } = this.#parts
    const { witness } = members
    const before = this.#witness
    if (before === undefined || before.is?.id !== witness?.id) {
      const reach = new Expected(WITNESS_STANDS_MS, WITNESS_STANDS_MS)
      this.#witness = { is: witness, reach }
      if (before?.is !== undefined) tell({ state: 'witness removed', ...named(before.is) })
      if (before !== undefined && witness !== undefined) tell({ state: 'witness joined', ...named(witness) })
    }
    if (witness === undefined) return
    const { isReachable, why } = sight.witness.livenessOf(witness.id)
    if (this.#witness?.reach.look(isReachable, clock.monotonic_ms()) !== true) return
    if (isReachable) tell({ state: 'witness reached', ...named(witness) })
    else tell({ state: 'witness unreachable', ...named(witness), reason: `There is no spare vote: ${why}` })
  }

  #lookWhere({ own, peers, hasQuorum }: ClusterSight): void {
    const { clock, tell } = this.#parts
    const now_ms = clock.monotonic_ms()
    for (const [nodeId, { name }] of this.#known ?? []) {
      if (nodeId === own.nodeId) continue
      const reach = this.#reach.get(nodeId) ?? new Expected()
      this.#reach.set(nodeId, reach)
      const { isReachable, why } = peers.livenessOf(nodeId)
      if (!reach.look(isReachable, now_ms)) continue
      tell(
        isReachable
          ? { state: 'node reached', nodeId, name }
          : { state: 'node unreachable', nodeId, name, reason: why },
      )
    }
    if (this.#quorum.look(hasQuorum, now_ms)) tell({ state: hasQuorum ? 'quorum back' : 'quorum lost' })
  }
}

const named = ({ id: nodeId, name }: Voter) => ({ nodeId, name })
