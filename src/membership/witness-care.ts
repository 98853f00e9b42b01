import type { MachineClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { pinOfRequest } from '../cluster/authority.ts'
import { isDue } from '../cluster/node-certificate.ts'
import type { EtcdClient } from '../etcd/client.ts'
import type { MemberStatus } from '../etcd/maintenance.ts'
import type { Member as EtcdMember } from '../etcd/members.ts'
import type { ClusterKeys } from '../cluster/sealing.ts'
import { PeerClient } from '../peers/peer-client.ts'
import type { Liveness } from '../peers/peer-session.ts'
import type { PeerCredentials } from '../peers/peer-tls.ts'
import { issuersIn, issuingPair, numbersOf } from './authorities.ts'
import type { ClusterFiles, OwnMembership } from './cluster-files.ts'
import { inEtcdTurn } from './etcd-turn.ts'
import { makeRoom, Unnamed } from './first-start.ts'
import { certifiedUntilOf, type Certified, certifyWitness, revokedOf } from './foundation.ts'
import type { Members, Voter } from './members.ts'
import { askNode } from './questions.ts'
import { Issued } from './issued.ts'
import { isSameSet } from './lockout.ts'
import { nodesFor, trustFor, WITNESS, type WitnessOrders, type WitnessState } from './witness-orders.ts'

export interface WitnessCareParts {
  readonly own: Pick<OwnMembership, 'nodeId'>
  readonly etcd: Pick<EtcdClient, 'range' | 'transact' | 'leases' | 'members'>
  readonly keys: ClusterKeys
  readonly members: Members
  readonly files: Pick<ClusterFiles, 'certificates'>
  /** Position in the log, which numbers revocation lists. */
  readonly position: () => number
  /** Whether this node is responsible for automatic work. */
  readonly isEldest: () => boolean
  /** Whether a node is reachable. */
  readonly isReachable: (nodeId: string) => boolean
  readonly clock: MachineClock
  readonly log: Log
}

interface Renewed {
  readonly certified: Certified
  readonly certifiedBy: number
}

const PATIENCE_MS = 2_000
/** Deadline for orders that restart its etcd member. */
const RESTART_MS = 25_000
/** Delay before a certificate that the witness could not store is sent again. */
const SENT_AGAIN_MS = 10_000

/**
 * The nodes' work for the witness, which cannot read the log: the eldest node tells it which certificates to accept and
 * which nodes exist, renews its certificate, and takes leadership from it. All of this compares the witness's state
 * with the desired one, so a node may end in the middle of it.
 */
export class WitnessCare {
  readonly #parts: WitnessCareParts
  readonly #peers: PeerClient
  readonly #unnamed: Unnamed
  readonly #issued = new Issued<Renewed>()
  #notBefore_ms = Number.NEGATIVE_INFINITY

  constructor(parts: WitnessCareParts) {
    this.#parts = parts
    const { own, members, log, clock } = parts
    this.#unnamed = new Unnamed(clock)
    const peerOf = (id: string) => (members.witness?.id === id ? members.witness : undefined)
    this.#peers = new PeerClient({ self: own.nodeId, credentials: this.#credentials(), peerOf, log, clock })
    this.meet()
  }

  /** Called when the witness or its address has changed. */
  meet(): void {
    const { witness } = this.#parts.members
    this.#peers.recheck()
    this.#peers.keep(witness === undefined ? [] : [witness.id])
  }

  /** Called when this node's certificates or authorities have changed. */
  present(): void {
    this.#peers.present(this.#credentials())
  }

  livenessOf(id: string): Liveness {
    return this.#peers.livenessOf(id)
  }

  /** Whether the witness's etcd member has a leader, so that its vote counts. */
  async doesVote(): Promise<boolean> {
    return (await this.#ask({}).catch(() => undefined))?.hasLeader === true
  }

  /** Rejects if etcd does not answer; then it must be called again. */
  async look(status: MemberStatus | undefined, listed: readonly EtcdMember[]): Promise<void> {
    const { members, isEldest } = this.#parts
    const { witness } = members
    if (witness === undefined || !isEldest() || !this.livenessOf(witness.id).isReachable) return
    // The next look asks again; the absence of the witness is reported elsewhere.
    const told = await this.#ask({}).catch(() => undefined)
    if (told === undefined) return
    if (this.#unnamed.isLate(!isNamed(listed, witness))) await this.#replaceMember(witness)
    await this.#bringTrust(witness, told)
    await this.#renew(witness, told)
    const nodes = nodesFor(members)
    if (JSON.stringify(told.nodes) !== JSON.stringify(nodes)) await this.#tell({ nodes })
    const { version } = told
    if (version !== witness.version) await members.changeWitness(witness.id, (known) => ({ ...known, version }))
    await this.#takeLeadership(witness, status, listed)
  }

  /** Called when this node is no longer in the cluster. */
  letGo(): void {
    this.#peers.keep([])
  }

  close(): void {
    this.#peers.close()
  }

  /** The witness presents a peer certificate, and is identified by its key. */
  #credentials(): PeerCredentials {
    const { peer, client } = this.#parts.files.certificates()
    const { key, certificate } = client
    return { key, certificate, ca: `${client.ca}${peer.ca}` }
  }

  async #ask(orders: WitnessOrders, timeout_ms = PATIENCE_MS): Promise<WitnessState> {
    const nodeId = this.#parts.members.witness?.id ?? ''
    // Sound: a witness has the version of the nodes.
    return (await askNode(this.#peers, { nodeId, path: WITNESS, body: orders, timeout_ms })) as WitnessState
  }

  /** Sends orders; lost ones are noticed by the next look. Returns the new state, or undefined. */
  async #tell(orders: WitnessOrders, timeout_ms?: number): Promise<WitnessState | undefined> {
    try {
      return await this.#ask(orders, timeout_ms)
    } catch (error) {
      this.#parts.log.warn('the witness does not follow a request', { reason: String(error) })
      return undefined
    }
  }

  async #replaceMember(witness: Voter): Promise<void> {
    const { etcd } = this.#parts
    if (isNamed(await etcd.members.list(), witness)) return
    await makeRoom(etcd, witness)
    await this.#tell({ isReplaced: true }, RESTART_MS)
  }

  async #bringTrust(witness: Voter, told: WitnessState): Promise<void> {
    const { members, etcd, keys, own, position } = this.#parts
    const wanted = revokedOf(members.removed()).map(({ serial }) => serial)
    const isKnown = ({ trust }: WitnessState) =>
      isSameSet(wanted, trust.serials) && isSameSet(numbersOf(members.authorities()), trust.authorities)
    let now: WitnessState | undefined = told
    if (!isKnown(told) || !told.trust.isInForce) {
      const issuers = await issuersIn(etcd, keys, members)
      const trust = await trustFor({ members, position: position() }, issuers, witness)
      const restart = async () => void (now = await this.#tell({ trust }, RESTART_MS))
      if (!(await inEtcdTurn(etcd, own.nodeId, restart))) return
    }
    if (now === undefined || !now.trust.isInForce) return
    const trusts = Math.max(...now.trust.authorities)
    if (trusts !== witness.trusts) await members.changeWitness(witness.id, (known) => ({ ...known, trusts }))
  }

  /** Renews the certificate. The witness's key stays, and identifies it. */
  async #renew(witness: Voter, told: WitnessState): Promise<void> {
    const { members, clock, log } = this.#parts
    const isOfOthers = issuingPair(members).number !== members.witness?.certifiedBy
    if (!isOfOthers && !isDue(told, clock.now_ms())) return
    if (clock.monotonic_ms() < this.#notBefore_ms) return
    const request = (await this.#tell({ isRequested: true }))?.request
    if (request === undefined || (await pinOfRequest(request)) !== witness.pin) return
    const { certified, certifiedBy } = await this.#issued.again(members, witness.id, () =>
      this.#certify(witness, request),
    )
    if ((await this.#tell({ certified })) === undefined) {
      this.#notBefore_ms = clock.monotonic_ms() + SENT_AGAIN_MS
      return
    }
    await members.changeWitness(witness.id, (known) => ({ ...known, certifiedBy }))
    this.#issued.done()
    log.info('the certificate of the witness was renewed')
  }
  async #certify(witness: Voter, request: string): Promise<Renewed> {
    const { members, etcd, keys, clock } = this.#parts
    const issuers = await issuersIn(etcd, keys, members)
    const certified = await certifyWitness(issuers, request, witness, clock.now_ms())
    const { serials, certificateEnd } = certifiedUntilOf([certified])
    // The serials are stored first, so that the certificate can be revoked before it is used.
    await members.changeWitness(witness.id, (known) => ({
      ...known,
      certificateEnd,
      serials: [...known.serials, ...serials],
    }))
    return { certified, certifiedBy: issuers.issuer }
  }

  /**
   * Moves leadership away from the witness: its site may be remote, which slows every change. Only the leader can do
   * it.
   */
  async #takeLeadership(
    witness: Voter,
    status: MemberStatus | undefined,
    listed: readonly EtcdMember[],
  ): Promise<void> {
    const { own, members, isReachable } = this.#parts
    if (status === undefined || listed.find(({ name }) => name === witness.id)?.id !== status.leader) return
    const isThere = (id: string) => id === own.nodeId || (members.get(id) !== undefined && isReachable(id))
    const voters = listed.filter(({ name, isLearner }) => !isLearner && isThere(name))
    const free = voters.find(({ name }) => members.get(name)?.maintenance === undefined) ?? voters[0]
    if (free !== undefined) await this.#tell({ leader: free.id })
  }
}

/** Whether its etcd member has come up. */
const isNamed = (listed: readonly EtcdMember[], { id }: Voter): boolean => listed.some(({ name }) => name === id)
