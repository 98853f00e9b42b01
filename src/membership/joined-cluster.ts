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
import { EtcdError } from '../etcd/errors.ts'
import type { MemberStatus } from '../etcd/maintenance.ts'
import type { Member as EtcdMember } from '../etcd/members.ts'
import type { PeerHandler } from '../peers/answering.ts'
import { JoinServer, type JoinServerParts } from '../peers/joining/join-server.ts'
import { PeerClient } from '../peers/peer-client.ts'
import { PeerServer } from '../peers/peer-server.ts'
import { askStanding, type Standing } from '../peers/standing.ts'
import { replaceAging } from './aging.ts'
import type { ClusterFiles, NodeCredentials, OwnMembership } from './cluster-files.ts'
import { EtcdSpace } from './etcd-space.ts'
import type { EtcdService } from './etcd-service.ts'
import { clientOf, gatewaysOf } from './gateways.ts'
import { JoinTokens } from './join-tokens.ts'
import { dropUnused } from './authorities.ts'
import { raiseLevel } from './levels.ts'
import { Lockout } from './lockout.ts'
import type { Member, Members } from './members.ts'
import { settle } from './moving.ts'
import { clientUrl, type NodeAddress } from './node-address.ts'
import { type KeyHolder, learnKeys, takeKeys } from './own-keys.ts'
import { Removals } from './removals.ts'
import { Renewal } from './renewal.ts'
import { shownState } from './shown-state.ts'
import { Succession } from './succession.ts'

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
  readonly stateFolder: string
  /** Where the API of a node is, as the configuration says it. */
  readonly apiPortOf: (nodeId: string) => number
  /** Why this node may be cut off, as half a sentence. */
  readonly cutOff: (host: string) => Promise<string | undefined>
  /** Others have gone on without it: what was put together has to end. */
  readonly beginAnew: () => void
  /** It was removed while it was there: makes it a single node. */
  readonly leave: (cluster: JoinedCluster) => Promise<void>
  readonly clock: MachineClock
  readonly log: Log
}

const LOOK_EVERY_MS = 1_000
const BETWEEN_LOOKS_MS = 20
const STATUS_PATIENCE_MS = 1_500

/** The cluster that this node is in, for as long as the daemon runs. */
export class JoinedCluster {
  readonly own: OwnMembership
  readonly etcd: EtcdClient
  readonly log: ClusterLog
  readonly keys: ClusterKeys
  readonly peers: PeerClient
  readonly tokens: JoinTokens
  readonly removals: Removals
  readonly succession: Succession
  readonly #parts: JoinedParts
  readonly #server: PeerServer
  readonly #lockout: Lockout
  readonly #holder: KeyHolder
  readonly #space: EtcdSpace
  readonly #renewal: Renewal
  readonly #looks: Repeated
  /** Its own member of etcd answers it: one that has just joined answers nobody. */
  #isVoter = false
  /** Who is in one etcd with it. */
  #listed: ReadonlySet<string> | undefined
  /** Whether a majority has answered this node the last time. */
  hasQuorum = true
  /** What became of this node, once it knows that it was removed. */
  #removal: Standing | undefined
  #isLooking = false
  #isClosed = false

  private constructor(
    parts: JoinedParts,
    begun: Pick<JoinedCluster, 'own' | 'etcd' | 'log' | 'keys' | 'peers' | 'tokens'>,
    server: PeerServer,
    holder: KeyHolder,
  ) {
    this.#parts = parts
    this.own = begun.own
    this.etcd = begun.etcd
    this.log = begun.log
    this.keys = begun.keys
    this.peers = begun.peers
    this.tokens = begun.tokens
    this.#server = server
    this.#holder = holder
    this.removals = new Removals({ ...parts, ...begun, ...this.#waysOfRemovals })
    this.#lockout = new Lockout({ ...parts, ...begun, ...this.#waysOfLockout })
    const urls = () => gatewaysOf(parts.members, this.own)
    this.#space = new EtcdSpace({ ...parts, etcd: this.etcd, urls })
    const present = (credentials: NodeCredentials) => this.#present(credentials)
    this.#renewal = new Renewal({ ...parts, cluster: this, present, wait: sleep })
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
    const addressed = ({ id, name: called, ...place }: Member) => ({
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
    const writing = {
      admits: (entry: Entry) => begun.succession.admit(entry),
      readBack: (revision: number) => begun.succession.readBack(revision),
    }
    const keptHalt = { why: parts.files.halt, keep: (why: string) => parts.files.keepHalt(why) }
    const reading = { folding, clock, log, learnKeys: learn, keptHalt, ...told }
    const shared = ClusterLog.begin({ etcd, keys, nodeId, history, ...writing, ...reading })
    const begun: JoinedCluster = new JoinedCluster(
      parts,
      { own, etcd, log: shared, keys, peers, tokens },
      server,
      holder,
    )
    return begun
  }

  /** Number of the last entry that this node has carried out. */
  get position(): number {
    return this.log.position
  }

  async state(): Promise<ClusterState> {
    const listed = await this.etcd.members.list({ isSerializable: true, timeout_ms: STATUS_PATIENCE_MS }).catch(nothing)
    const leader = (await this.#statusAt(this.succession.hasNoMember ? this.#other : this.own))?.leader
    const { own, log, succession } = this
    const parts = { ...this.#parts, own, log, histories: succession.histories }
    const removedAt = this.#removal?.removedAt
    return shownState({ ...parts, listed, leader, removedAt, stateOf: (id) => this.#stateOf(id) })
  }

  /** Undefined when the member of etcd beside this node does not answer. */
  ownStatus(): Promise<MemberStatus | undefined> {
    return this.#statusAt(this.own)
  }

  #statusAt(node: NodeAddress): Promise<MemberStatus | undefined> {
    return this.etcd.maintenance.status({ at: clientUrl(node), timeout_ms: STATUS_PATIENCE_MS }).catch(nothing)
  }

  get #other(): NodeAddress {
    return this.#parts.members.all().find(({ id }) => id !== this.own.nodeId) ?? this.own
  }

  /** Another node of the cluster. */
  isReachable(nodeId: string): boolean {
    if (this.#isClosed || this.#parts.members.get(nodeId) === undefined) return false
    return this.peers.livenessOf(nodeId).isReachable
  }

  #stateOf(id: string): ClusterNode['state'] {
    if (id === this.own.nodeId) return 'online'
    // Whoever was asked just before asks nobody any more.
    if (this.#isClosed) return 'unknown'
    const { isReachable, why } = this.peers.livenessOf(id)
    if (isReachable) return 'online'
    return why === undefined ? 'unknown' : 'unreachable'
  }

  /** Since when this node is none of the cluster, once it knows. */
  get removal(): Standing | undefined {
    return this.#removal
  }

  /** The members are others than before, or the key of the cluster is. */
  #meet(): void {
    const { members, log } = this.#parts
    if (this.#isClosed) return
    try {
      takeKeys(this.#holder, members)
    } catch (error) {
      // Entries that are sealed with it halt this node.
      log.error('a key of the cluster cannot be read', { reason: String(error) })
    }
    this.peers.recheck()
    this.#server.recheck()
    this.peers.keep(members.othersThan(this.own.nodeId))
    // Who joins does not know them yet, but from whom it was let in.
    if (members.get(this.own.nodeId) !== undefined)
      this.etcd.use(gatewaysOf(members, this.own, { isVoter: this.#isVoter, names: this.#listed }))
  }

  /** One look at a time: what it does may take longer than the time to the next one. */
  async #look(): Promise<void> {
    if (this.#isLooking) return
    await this.betweenLooks(async () => {
      this.#removal ??= standingIn(this.#parts.members, this.pin)
      await (this.#removal === undefined ? this.#upkeep() : this.#goOut(this.#removal))
    })
  }

  /** For what writes certificates and authorities of this node, as its looks do: what came late would stay. */
  async betweenLooks<T>(work: () => Promise<T>): Promise<T> {
    while (this.#isLooking) await sleep(BETWEEN_LOOKS_MS)
    this.#isLooking = true
    try {
      return await work()
    } finally {
      this.#isLooking = false
    }
  }

  /** Of the key that it shows its peers. */
  get pin(): string {
    return pinOf(this.#parts.files.certificates().client.certificate)
  }

  /** Who was there when it was removed becomes a single node; who was not says so, and a person decides. */
  async #goOut(removal: Standing): Promise<void> {
    const { service, leave, log } = this.#parts
    if (removal.isLeaving) return await leave(this)
    if (this.log.halted !== undefined) return
    this.log.halt(
      `it was removed from the cluster ${this.own.name} at ${removal.removedAt}; ` +
        `DELETE /cluster/nodes/${this.own.nodeId} makes it a single node, which can join again with a new token`,
    )
    this.peers.keep([])
    await service.stop()
    log.error('this node was removed from the cluster, and is locked out', { removedAt: removal.removedAt })
  }

  /** Whoever is cut off asks whether it was removed meanwhile: what it meets looks the same. */
  async #askStanding(): Promise<void> {
    const { members, files } = this.#parts
    const credentials = files.certificates().client
    for (const { id: nodeId, pin, host, port } of members.all()) {
      if (nodeId === this.own.nodeId) continue
      this.#removal ??= await askStanding({ at: { host, port }, nodeId, pin, credentials })
    }
  }

  /**
   * A member that is not there any more is started again, and one that has caught up is given its vote: when its node
   * shows itself as one of the cluster. Before that a crash makes it forget that it joined, and a vote would be lost.
   */
  async #upkeep(): Promise<void> {
    // It begins anew in a moment.
    if (this.succession.givesWay) return
    const { service, log } = this.#parts
    await this.succession.goOn()
    const status = await this.ownStatus()
    // One that was dropped by the others ends again at once.
    if (status === undefined && !this.succession.hasNoMember)
      await service.start().catch((error: unknown) => log.warn('etcd does not start', { reason: String(error) }))
    const listed = await this.etcd.members.list({ timeout_ms: STATUS_PATIENCE_MS }).catch(nothing)
    this.hasQuorum = listed !== undefined
    this.#know(listed)
    const isApart = await this.succession.look(listed)
    if (listed === undefined) return await this.#askStanding()
    if (isApart) return
    await this.#promote(listed)
    await this.#keepUp(status, listed)
  }

  /** Where nobody tells who is in etcd, it is who was. */
  #know(listed: readonly EtcdMember[] | undefined): void {
    const isVoter = listed?.some(({ name, isLearner }) => name === this.own.nodeId && !isLearner) === true
    const names = listed === undefined ? this.#listed : new Set(listed.map(({ name }) => name))
    const isSame = isVoter === this.#isVoter && names?.size === this.#listed?.size
    if (isSame && [...(names ?? [])].every((name) => this.#listed?.has(name))) return
    this.#isVoter = isVoter
    this.#listed = names
    this.#meet()
  }

  async #promote(listed: readonly EtcdMember[]): Promise<void> {
    for (const { id, name, isLearner } of listed) {
      if (!isLearner || (name !== this.own.nodeId && !this.isReachable(name))) continue
      try {
        await this.etcd.members.promote(id)
      } catch (error) {
        // Not yet: it is asked again.
        if (!(error instanceof EtcdError)) throw error
      }
    }
  }

  async #keepUp(status: MemberStatus | undefined, listed: readonly EtcdMember[]): Promise<void> {
    const { members, store } = this.#parts
    if (status !== undefined) await this.#space.look(status)
    await this.#renewal.look()
    await settle(this, members, listed)
    await this.#lockout.bring()
    if (this.removals.isDue) await this.removals.finish()
    const { clock, log } = this.#parts
    const isEldest = () => this.removals.isEldest
    await replaceAging({ own: this.own, etcd: this.etcd, keys: this.keys, members, clock, log, isEldest })
    await dropUnused(this.etcd, members)
    await raiseLevel(store, members, this.own.nodeId)
  }

  get #waysOfRemovals() {
    const { log: messages, store } = this.#parts
    return {
      messages,
      isReachable: (nodeId: string) => this.peers.livenessOf(nodeId).isReachable,
      isApplying: () => store.underWay() !== undefined,
      wait: sleep,
    }
  }

  get #waysOfLockout() {
    const { log } = this.#parts
    return {
      log,
      position: () => this.log.position,
      present: (credentials: NodeCredentials) => this.#present(credentials),
      wait: sleep,
    }
  }

  /** From the next connection on, in both directions. */
  #present(credentials: NodeCredentials): void {
    this.#server.present(credentials)
    this.peers.present(credentials)
    this.etcd.present(credentials)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#looks.stop()
    this.peers.close()
    await this.#server.close()
    this.etcd.close()
    await this.log.close()
  }
}

const nothing = () => undefined

function standingIn(members: Members, pin: string): Standing | undefined {
  const removed = members.removalOf(pin)
  return removed && { removedAt: removed.at, isLeaving: removed.isLeaving, isOut: removed.stage !== 'marked' }
}
