import type { SharedStore } from '../../storage/config/shared-store.ts'
import type { MachineClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Repeated } from '../base/repeated.ts'
import { addressText } from '../base/socket-address.ts'
import { ClusterLog } from '../cluster/cluster-log.ts'
import type { ClusterLogParts } from '../cluster/cluster-log-parts.ts'
import { ClusterKeys } from '../cluster/sealing.ts'
import type { ClusterNode, ClusterState } from '../context/cluster.ts'
import { EtcdClient } from '../etcd/client.ts'
import { EtcdError } from '../etcd/errors.ts'
import type { MemberStatus } from '../etcd/maintenance.ts'
import type { PeerHandler } from '../peers/answering.ts'
import { JoinServer, type JoinServerParts } from '../peers/joining/join-server.ts'
import { PeerClient } from '../peers/peer-client.ts'
import { PeerServer } from '../peers/peer-server.ts'
import type { ClusterFiles, OwnMembership } from './cluster-files.ts'
import type { EtcdService } from './etcd-service.ts'
import { JoinTokens } from './join-tokens.ts'
import type { Members } from './members.ts'
import { clientUrl, type NodeAddress } from './node-address.ts'

export interface JoinedParts {
  readonly store: SharedStore
  readonly members: Members
  readonly files: ClusterFiles
  readonly service: EtcdService
  /** Where this node listens for the others. */
  readonly listen: NodeAddress
  /** Answers what other nodes forward. */
  readonly handle: PeerHandler
  /** Takes nodes in that join; of a cluster that was begun. */
  readonly admit: (cluster: JoinedCluster, ...joining: Parameters<JoinServerParts['admit']>) => Promise<unknown>
  readonly onFolded: ClusterLogParts['onFolded']
  readonly clock: MachineClock
  readonly log: Log
}

const LOOK_EVERY_MS = 1_000
const STATUS_PATIENCE_MS = 1_500

/** The cluster that this node is in, for as long as the daemon runs. */
export class JoinedCluster {
  readonly own: OwnMembership
  readonly etcd: EtcdClient
  readonly log: ClusterLog
  readonly keys: ClusterKeys
  readonly peers: PeerClient
  readonly tokens: JoinTokens
  readonly #parts: JoinedParts
  readonly #server: PeerServer
  readonly #looks: Repeated
  /** Its own member of etcd answers it: one that has just joined answers nobody. */
  #isVoter = false
  /** Whether a majority has answered this node the last time. */
  hasQuorum = true

  private constructor(
    parts: JoinedParts,
    begun: Pick<JoinedCluster, 'own' | 'etcd' | 'log' | 'keys' | 'peers' | 'tokens'>,
    server: PeerServer,
  ) {
    this.#parts = parts
    this.own = begun.own
    this.etcd = begun.etcd
    this.log = begun.log
    this.keys = begun.keys
    this.peers = begun.peers
    this.tokens = begun.tokens
    this.#server = server
    this.#looks = new Repeated('the cluster', () => this.#look(), LOOK_EVERY_MS, parts.log)
    this.#looks.start()
    parts.members.follow(() => this.#meet())
    this.#meet()
  }

  /** Follows the log; resolves before it has caught up, see `log`. */
  static async begin(parts: JoinedParts, own: OwnMembership, etcd = clientOf(parts, own)): Promise<JoinedCluster> {
    const { store, clock, log, members, onFolded } = parts
    const keys = new ClusterKeys(own.clusterId, own.keys)
    const credentials = parts.files.certificates().client
    const peerOf = (id: string) => members.get(id)
    const peers = new PeerClient({ self: own.nodeId, credentials, peerOf, log, clock })
    const { listen: address, handle } = parts
    const memberOf = (pin: string) => members.idOf(pin)
    const tokens = new JoinTokens(store.joinTokens, clock)
    const { clusterId, name } = own
    const nodes = () => members.all().map((member) => ({ ...member, address: addressText(member) }))
    const joining = new JoinServer({
      self: own.nodeId,
      tokens,
      cluster: () => ({ clusterId, name, nodes: nodes() }),
      admit: (...application) => parts.admit(begun, ...application),
      log,
      clock,
    })
    const server = await PeerServer.open({ address, credentials, memberOf, handle, join: joining.enter, log })
    const { nodeId, epoch } = own
    const folding = store.folding
    const told = onFolded === undefined ? {} : { onFolded }
    const shared = ClusterLog.begin({ etcd, keys, nodeId, epoch, folding, clock, log, ...told })
    const begun: JoinedCluster = new JoinedCluster(parts, { own, etcd, log: shared, keys, peers, tokens }, server)
    return begun
  }

  /** Number of the last entry that this node has carried out. */
  get position(): number {
    return this.log.position
  }

  async state(): Promise<ClusterState> {
    const { own, log, etcd } = this
    const listed = await etcd.members.list({ isSerializable: true, timeout_ms: STATUS_PATIENCE_MS }).catch(nothing)
    const leader = (await this.#ownStatus())?.leader
    const nodes = this.#parts.members.all().map((member): ClusterNode => {
      const { id, name, version, since } = member
      const voter = listed?.find((one) => one.name === id)
      return {
        id,
        name,
        address: addressText(member),
        isSelf: id === own.nodeId,
        state: this.#stateOf(id),
        isVoter: voter?.isLearner === false,
        isLeader: voter !== undefined && voter.id === leader,
        ahead: this.#parts.store.aheadOn(id).length,
        version,
        since,
      }
    })
    const quorum = leader !== undefined && leader !== '0'
    const { clusterId: id, name, epoch } = own
    return { id, name, epoch, quorum, sequence: log.position, halted: log.halted, nodes }
  }

  /** Undefined when the member of etcd beside this node does not answer. */
  #ownStatus(): Promise<MemberStatus | undefined> {
    const at = clientUrl(this.own)
    return this.etcd.maintenance.status({ at, timeout_ms: STATUS_PATIENCE_MS }).catch(nothing)
  }

  #stateOf(id: string): ClusterNode['state'] {
    if (id === this.own.nodeId) return 'online'
    const { isReachable, why } = this.peers.livenessOf(id)
    if (isReachable) return 'online'
    return why === undefined ? 'unknown' : 'unreachable'
  }

  /** The members are others than before. */
  #meet(): void {
    const { members } = this.#parts
    this.peers.recheck()
    this.#server.recheck()
    this.peers.keep(others(members, this.own.nodeId))
    // Who joins does not know them yet, but from whom it was let in.
    if (members.get(this.own.nodeId) !== undefined) this.etcd.use(gatewaysOf(members, this.own, this.#isVoter))
  }

  /** A member that is not there any more is started again, and one that has caught up is given its vote. */
  async #look(): Promise<void> {
    const status = await this.#ownStatus()
    if (status === undefined) await this.#parts.service.start()
    const listed = await this.etcd.members.list({ timeout_ms: STATUS_PATIENCE_MS }).catch(nothing)
    this.hasQuorum = listed !== undefined
    const isVoter = listed?.some(({ name, isLearner }) => name === this.own.nodeId && !isLearner) === true
    if (isVoter !== this.#isVoter) {
      this.#isVoter = isVoter
      this.#meet()
    }
    for (const { id, isLearner } of listed ?? []) {
      if (!isLearner) continue
      try {
        await this.etcd.members.promote(id)
      } catch (error) {
        // Not yet: it is asked again.
        if (!(error instanceof EtcdError)) throw error
      }
    }
  }

  async close(): Promise<void> {
    this.#looks.stop()
    this.peers.close()
    await this.#server.close()
    this.etcd.close()
    await this.log.close()
  }
}

const nothing = () => undefined

const others = (members: Members, self: string): readonly string[] =>
  members
    .all()
    .map(({ id }) => id)
    .filter((id) => id !== self)

/** The own member first, as it is the nearest, unless it does not answer yet. */
function gatewaysOf(members: Members, own: OwnMembership, isVoter: boolean): readonly string[] {
  const urls = members
    .all()
    .filter(({ id }) => id !== own.nodeId)
    .map(clientUrl)
  return isVoter ? [clientUrl(own), ...urls] : [...urls, clientUrl(own)]
}

export function clientOf(
  { files, members, clock }: Pick<JoinedParts, 'files' | 'members' | 'clock'>,
  own: OwnMembership,
  gateways = gatewaysOf(members, own, false),
): EtcdClient {
  return new EtcdClient({ gateways, credentials: files.certificates().client, clock })
}
