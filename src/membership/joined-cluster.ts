import { setTimeout as sleep } from 'node:timers/promises'
import type { Entry } from '../../storage/config/entry.ts'
import type { SharedStore } from '../../storage/config/shared-store.ts'
import type { MachineClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Repeated } from '../base/repeated.ts'
import { addressText } from '../base/socket-address.ts'
import { ClusterLog } from '../cluster/cluster-log.ts'
import type { ClusterLogParts } from '../cluster/cluster-log-parts.ts'
import { pinOf } from '../cluster/node-certificate.ts'
import { ClusterKeys } from '../cluster/sealing.ts'
import type { ClusterNode, ClusterState } from '../context/cluster.ts'
import type { EtcdClient } from '../etcd/client.ts'
import type { MemberStatus } from '../etcd/maintenance.ts'
import type { Member as EtcdMember } from '../etcd/members.ts'
import type { PeerHandler } from '../peers/answering.ts'
import { JoinServer, type JoinServerParts } from '../peers/joining/join-server.ts'
import { PeerClient } from '../peers/peer-client.ts'
import type { Liveness } from '../peers/peer-session.ts'
import { PeerServer } from '../peers/peer-server.ts'
import type { Standing } from '../peers/standing.ts'
import type { ClusterFiles, NodeCredentials, OwnMembership } from './cluster-files.ts'
import type { EtcdService } from './etcd-service.ts'
import { FirstStart } from './first-start.ts'
import { clientOf, gatewaysOf } from './gateways.ts'
import { JoinTokens } from './join-tokens.ts'
import type { Members, Voter } from './members.ts'
import { clientUrl, type NodeAddress } from './node-address.ts'
import { type KeyHolder, learnKeys, takeKeys } from './own-keys.ts'
import { OwnStanding } from './own-standing.ts'
import { Quorum } from './quorum.ts'
import { Removals, standingIn } from './removals.ts'
import { promote } from './promotion.ts'
import { shownState } from './shown-state.ts'
import { Succession } from './succession.ts'
import { Upkeep } from './upkeep.ts'
import { WitnessCare } from './witness-care.ts'

export interface JoinedParts {
  readonly store: SharedStore
  readonly members: Members
  readonly files: ClusterFiles
  readonly service: EtcdService
  /** Address of this node's peer port. */
  readonly listen: NodeAddress
  /** Answers requests that other nodes forward. */
  readonly handle: PeerHandler
  /** Judges nodes that want to join, before their token is used. */
  readonly vet: JoinServerParts['vet']
  /** Admits nodes to a started cluster. */
  readonly admit: (cluster: JoinedCluster, ...joining: Parameters<JoinServerParts['admit']>) => Promise<unknown>
  readonly onFolded: ClusterLogParts['onFolded']
  readonly stateFolder: string
  /** Returns a node's API port, according to the configuration. */
  readonly apiPortOf: (nodeId: string) => number
  /** Returns why this node may be cut off, as half a sentence. */
  readonly cutOff: (host: string) => Promise<string | undefined>
  /** Ends what was put together, because others have gone on without this node. */
  readonly beginAnew: () => void
  /** Makes a node single that was removed while it was up. */
  readonly leave: (cluster: JoinedCluster) => Promise<void>
  readonly clock: MachineClock
  readonly log: Log
}

const LOOK_EVERY_MS = 1_000
const BETWEEN_LOOKS_MS = 20
const STATUS_PATIENCE_MS = 1_500

/** The cluster that this node is in, while the daemon runs. */
export class JoinedCluster {
  readonly own: OwnMembership
  readonly etcd: EtcdClient
  readonly log: ClusterLog
  readonly keys: ClusterKeys
  readonly peers: PeerClient
  readonly tokens: JoinTokens
  readonly removals: Removals
  readonly succession: Succession
  readonly quorum: Quorum
  readonly witness: WitnessCare
  /** Pin of the key that this node presents to peers, which never changes. */
  readonly pin: string
  readonly #parts: JoinedParts
  readonly #server: PeerServer
  readonly #holder: KeyHolder
  readonly #care: Upkeep
  readonly #firstStart: FirstStart
  readonly #looks: Repeated
  /** Whether the own etcd member votes: one that has just joined answers no requests. */
  #isVoter = false
  /** Names of the members of the same etcd. */
  #listed: ReadonlySet<string> | undefined
  readonly #standing: OwnStanding
  #isLockedOut = false
  #isLooking = false
  #leavesEtcd = false
  #isClosed = false

  private constructor(
    parts: JoinedParts,
    begun: Pick<JoinedCluster, 'own' | 'etcd' | 'log' | 'keys' | 'peers' | 'tokens' | 'quorum' | 'pin'>,
    server: PeerServer,
    holder: KeyHolder,
  ) {
    this.#parts = parts
    this.quorum = begun.quorum
    this.pin = begun.pin
    this.own = begun.own
    this.etcd = begun.etcd
    this.log = begun.log
    this.keys = begun.keys
    this.peers = begun.peers
    this.tokens = begun.tokens
    this.#server = server
    this.#holder = holder
    this.#standing = new OwnStanding({ ...parts, ...begun })
    this.removals = new Removals({ ...parts, ...begun, ...this.#waysOfRemovals })
    this.witness = new WitnessCare({ ...parts, ...begun, ...this.#waysOfWitness })
    this.#care = new Upkeep({ ...parts, cluster: this, present: (credentials) => this.#present(credentials) })
    this.#firstStart = new FirstStart({ ...parts, own: begun.own, etcd: begun.etcd, wait: sleep })
    this.succession = new Succession({ ...parts, ...begun, messages: parts.log })
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
    const holder = { keys, nodeId: own.nodeId, privateKey: credentials.key }
    takeKeys(holder, members)
    const peerOf = (id: string) => members.get(id)
    const peers = new PeerClient({ self: own.nodeId, credentials, peerOf, log, clock })
    const { listen: address, handle } = parts
    const memberOf = (pin: string) => members.idOf(pin)
    const tokens = new JoinTokens(store.joinTokens, clock)
    const { clusterId, name } = own
    const addressed = ({ id, name: called, ...place }: Voter) => ({
      id,
      name: called,
      address: place.host === '' ? '' : addressText(place),
    })
    const nodes = () => members.all().map(addressed)
    const removed = () => members.replaceable().map(addressed)
    const joining = new JoinServer({
      self: own.nodeId,
      tokens,
      cluster: () => ({ clusterId, name, nodes: nodes(), removed: removed() }),
      level: () => members.level,
      vet: parts.vet,
      admit: (...application) => parts.admit(begun, ...application),
      log,
      clock,
    })
    const standingOf = (pin: string) => standingIn(members, pin)
    const server = await PeerServer.open({
      address,
      credentials,
      memberOf,
      handle,
      join: joining.enter,
      standingOf,
      log,
    })
    const { nodeId } = own
    const history = () => members.history
    const folding = store.folding
    const told = onFolded === undefined ? {} : { onFolded }
    const learn = () => learnKeys(holder, etcd)
    const quorum = new Quorum({ etcd, clock })
    const writing = {
      admits: (entry: Entry) => quorum.assert(entry).then(() => begun.succession.admit(entry)),
      settle: () => begun.succession.settle(),
      isTakingOver: () => begun.succession.takeovers.isUnderWay,
    }
    const keptHalt = { why: parts.files.halt, keep: (why: string) => parts.files.keepHalt(why) }
    const lockedOut = () => begun.whyRemoved
    const reading = { folding, clock, log, learnKeys: learn, lockedOut, keptHalt, ...told }
    const shared = ClusterLog.begin({ etcd, keys, nodeId, history, ...writing, ...reading })
    const begun: JoinedCluster = new JoinedCluster(
      parts,
      { own, etcd, log: shared, keys, peers, tokens, quorum, pin: pinOf(credentials.certificate) },
      server,
      holder,
    )
    return begun
  }

  /** Number of the last entry that this node has folded. */
  get position(): number {
    return this.log.position
  }

  /** Whether a majority answered this node at the last look. */
  get hasQuorum(): boolean {
    return this.quorum.isThere
  }

  async state(): Promise<ClusterState> {
    const listed = await this.etcd.members.list({ isSerializable: true, timeout_ms: STATUS_PATIENCE_MS }).catch(nothing)
    const leader = (await this.#statusAt(this.succession.hasNoMember ? this.#other : this.own))?.leader
    const { own, log, succession } = this
    const { histories, takeovers } = succession
    const parts = { ...this.#parts, own, log, histories, isTakingOver: takeovers.isUnderWay }
    const removedAt = this.removal?.removedAt
    return shownState({ ...parts, listed, leader, removedAt, stateOf: (id) => this.#stateOf(id) })
  }

  /** Undefined when the etcd member beside this node does not answer. */
  ownStatus(): Promise<MemberStatus | undefined> {
    return this.#statusAt(this.own)
  }

  #statusAt(node: NodeAddress): Promise<MemberStatus | undefined> {
    return this.etcd.maintenance.status({ at: clientUrl(node), timeout_ms: STATUS_PATIENCE_MS }).catch(nothing)
  }

  get #other(): NodeAddress {
    return this.#parts.members.all().find(({ id }) => id !== this.own.nodeId) ?? this.own
  }

  /** Whether another node of the cluster, or its witness, is reachable. */
  isReachable(id: string): boolean {
    return this.#livenessOf(id)?.isReachable === true
  }

  /** Undefined for an unknown node, and after `close`, when no node is asked any more. */
  #livenessOf(id: string): Liveness | undefined {
    const { members } = this.#parts
    if (this.#isClosed || members.voter(id) === undefined || id === this.own.nodeId) return undefined
    return members.witness?.id === id ? this.witness.livenessOf(id) : this.peers.livenessOf(id)
  }

  #stateOf(id: string): ClusterNode['state'] {
    if (id === this.own.nodeId) return 'online'
    const { isReachable = false, why } = this.#livenessOf(id) ?? {}
    if (isReachable) return 'online'
    return why === undefined ? 'unknown' : 'unreachable'
  }

  /** The removal of this node, once it knows of it from its log or from the others. */
  get removal(): Standing | undefined {
    return this.#standing.removal
  }

  /** The removal in words. */
  get whyRemoved(): string | undefined {
    const { removal, own } = this
    if (removal === undefined) return undefined
    const way = removal.isLeaving
      ? 'it becomes a single node automatically'
      : `DELETE /cluster/nodes/${own.nodeId} makes it a single node, which can join again with a new token`
    return `it was removed from the cluster ${own.name} at ${removal.removedAt}; ${way}`
  }

  /** Called when the members or the cluster key have changed. */
  #meet(): void {
    const { members, log } = this.#parts
    if (this.#isClosed) return
    try {
      takeKeys(this.#holder, members)
    } catch (error) {
      // An entry sealed with this key will halt the node.
      log.error('a key of the cluster cannot be read', { reason: String(error) })
    }
    this.peers.recheck()
    this.witness.meet()
    this.#server.recheck()
    this.peers.keep(members.othersThan(this.own.nodeId))
    // A joining node does not know them yet, but knows the members that admitted it.
    if (members.get(this.own.nodeId) !== undefined)
      this.etcd.use(gatewaysOf(members, this.own, { isVoter: this.#isVoter, names: this.#listed }))
  }

  /** Looks one at a time: one may take longer than the interval. */
  async #look(): Promise<void> {
    if (this.#isLooking) return
    await this.betweenLooks(async () => {
      const { removal } = this
      await (removal === undefined ? this.#upkeep() : this.#goOut(removal))
    })
  }

  /** For work that writes this node's certificates and authorities, as looks do: a late write would win. */
  async betweenLooks<T>(work: () => Promise<T>): Promise<T> {
    while (this.#isLooking) await sleep(BETWEEN_LOOKS_MS)
    this.#isLooking = true
    try {
      return await work()
    } finally {
      this.#isLooking = false
    }
  }

  /**
   * A node that was up when it was removed becomes a single node; otherwise it reports the removal, and a person
   * decides.
   */
  async #goOut(removal: Standing): Promise<void> {
    const { service, leave, log } = this.#parts
    if (removal.isLeaving) return await leave(this)
    if (this.#isLockedOut) return
    this.log.halt(String(this.whyRemoved))
    this.peers.keep([])
    this.witness.letGo()
    await service.stop()
    this.#isLockedOut = true
    log.error('this node was removed from the cluster, and is locked out', { removedAt: removal.removedAt })
  }

  /** Stops starting the etcd member: whatever ends this daemon may be stopping the member as well. */
  leaveEtcd(): void {
    this.#leavesEtcd = true
  }

  /** Restarts a member that has ended, and gives a vote to one that has caught up. */
  async #upkeep(): Promise<void> {
    // The daemon is about to restart.
    if (this.succession.givesWay) return
    const { service, log } = this.#parts
    await this.succession.goOn()
    const status = await this.ownStatus()
    // A member that the others have removed ends again at once.
    if (status === undefined && !this.succession.hasNoMember && !this.#leavesEtcd)
      await service.start().catch((error: unknown) => log.warn('etcd does not start', { reason: String(error) }))
    const listed = await this.etcd.members.list({ timeout_ms: STATUS_PATIENCE_MS }).catch(nothing)
    this.quorum.note(listed !== undefined)
    this.#know(listed)
    const isApart = await this.succession.look(listed)
    if (listed === undefined) return void (await this.#standing.ask())
    if (isApart) return
    const isAway = ({ id }: Voter) => this.#listed?.has(id) !== true && this.#stateOf(id) === 'unreachable'
    if (this.#parts.members.all().some(isAway)) this.#standing.askBeside()
    if (await this.#firstStart.isInVain(listed)) return await this.succession.replaceMember()
    const isReachable = (id: string) => this.isReachable(id)
    const { own, etcd, peers } = this
    await promote({ own, etcd, peers, members: this.#parts.members, isReachable }, listed)
    await this.#care.look(status, listed)
  }

  /** If no member lists the others, the last list stays. */
  #know(listed: readonly EtcdMember[] | undefined): void {
    const isVoter = listed?.some(({ name, isLearner }) => name === this.own.nodeId && !isLearner) === true
    const names = listed === undefined ? this.#listed : new Set(listed.map(({ name }) => name))
    const isSame = isVoter === this.#isVoter && names?.size === this.#listed?.size
    if (isSame && [...(names ?? [])].every((name) => this.#listed?.has(name))) return
    this.#isVoter = isVoter
    this.#listed = names
    this.#meet()
  }

  get #waysOfRemovals() {
    const { log: messages, store } = this.#parts
    return {
      messages,
      isReachable: (id: string) => this.isReachable(id),
      doesWitnessVote: () => this.witness.doesVote(),
      standing: () => this.#standing.ask(),
      isApplying: () => store.underWay() !== undefined,
      wait: sleep,
    }
  }

  get #waysOfWitness() {
    const { messages: log, isReachable } = this.#waysOfRemovals
    return { log, isReachable, position: () => this.log.position, isEldest: () => this.removals.isEldest }
  }

  /** Presents these credentials from the next connection on, in both directions. */
  #present(credentials: NodeCredentials): void {
    this.#server.present(credentials)
    this.peers.present(credentials)
    this.witness.present()
    this.etcd.present(credentials)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    // From here on requests to etcd fail as if it were away, and the caller may be stopping it.
    this.leaveEtcd()
    this.#looks.stop()
    this.peers.close()
    this.witness.close()
    await this.#server.close()
    this.etcd.close()
    await this.log.close()
  }
}

const nothing = () => undefined
