import { setTimeout as sleep } from 'node:timers/promises'
import { FIRST_EPOCH } from '../../storage/config/cluster-rows.ts'
import { ApiError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { addressText } from '../base/socket-address.ts'
import type { JoinRole } from '../cluster/join-token.ts'
import { ClusterKeys, newClusterKey } from '../cluster/sealing.ts'
import type { PlanExecutor } from '../config/enactor.ts'
import { nodeRecords } from '../config/node-records.ts'
import type { OtherNodes } from '../config/rollout/other-nodes.ts'
import { configView } from '../config/views.ts'
import type { Asking } from '../context/asking.ts'
import type {
  ClusterActor,
  ClusterState,
  Forming,
  IssuedToken,
  Joining,
  JoinPreview,
  NodeChange,
} from '../context/cluster.ts'
import type { EtcdClient } from '../etcd/client.ts'
import type { ForwardedAnswer } from '../peers/asking.ts'
import { JoinClient } from '../peers/joining/join-client.ts'
import type { ForwardedRequest } from '../peers/peer-client.ts'
import { PeerError } from '../peers/peer-error.ts'
import { askOthers } from './asking-others.ts'
import { ClusterFiles, type NodeCertificates, type OwnMembership, type Revocation } from './cluster-files.ts'
import { firstMembers, refusePendingIdentity } from './first-members.ts'
import { EtcdService } from './etcd-service.ts'
import { answers, assertGround, type EtcdGround } from './etcd-ground.ts'
import type { Welcome } from './admission.ts'
import { firstIssuers, newAuthorities } from './authorities.ts'
import { startNewcomer } from './first-start.ts'
import { certify, foundIn, memberOf, newRequests, type Requests, revocationOf, withKeys } from './foundation.ts'
import { parsedToken, previewOf, refusedInWords, readAddress, replaced } from './joining-refusals.ts'
import { clientOf } from './gateways.ts'
import { JoinedCluster, type JoinedParts } from './joined-cluster.ts'
import { letIn, vet } from './letting-in.ts'
import { leaveAddresses } from './left-addresses.ts'
import { Members } from './members.ts'
import { changeNode, startAt } from './moving.ts'
import { inTime } from './removals.ts'
import { caughtUp, startOver } from './returning.ts'
import { rolloutNodes } from './rollout-questions.ts'
import { issueToken } from './token-issue.ts'
import { clientUrl, type NodeAddress, peerUrl } from './node-address.ts'

export interface MembershipParts extends Omit<
  JoinedParts,
  'members' | 'files' | 'service' | 'vet' | 'admit' | 'leave' | 'beginAnew'
> {
  /** The id of this node in the running configuration, by which the others know it. */
  readonly nodeId: string
  /** PEM: key that verifies its tokens. */
  readonly tokenKey: string
  readonly executor: PlanExecutor
  /** Returns what the etcd beside this daemon reports as its version; undefined if there is none. */
  readonly etcdSays: EtcdGround['says']
  /** Stores sessions that were opened while the node could not take part in changes. */
  readonly keepSessions: () => Promise<void>
}

/** Position of the first checkpoint, which an empty store takes over. */
const FIRST_POSITION = 1

/** The membership of this node: forming, joining and leaving clusters. */
export class Membership implements ClusterActor {
  readonly members: Members
  readonly otherIds = () => this.members.othersThan(this.#parts.nodeId)
  readonly #parts: MembershipParts
  readonly #files: ClusterFiles
  readonly #service: EtcdService
  #cluster: JoinedCluster | undefined
  #isChanging = false
  #isOther = false

  private constructor(parts: MembershipParts) {
    this.#parts = parts
    this.members = new Members(parts.store.members)
    this.#files = new ClusterFiles(parts.stateFolder)
    this.#service = new EtcdService(parts.executor, this.#files)
  }

  /** Resumes the membership. Remains of a crash while forming a cluster are removed. */
  static async open(parts: MembershipParts): Promise<Membership> {
    const membership = new Membership(parts)
    await membership.#resume()
    return membership
  }

  get cluster(): JoinedCluster | undefined {
    return this.#cluster
  }

  /**
   * Whether the node has formed or joined a cluster since this was opened: what was put together for one node must end.
   */
  get isOther(): boolean {
    return this.#isOther
  }

  /** The state of the log for answers; undefined without a cluster. */
  get sharedLog(): Pick<JoinedCluster, 'position' | 'hasQuorum'> | undefined {
    return this.#cluster
  }

  /** For applies; undefined on a node that was in no cluster when this was opened. */
  get others(): OtherNodes | undefined {
    return this.#cluster === undefined || this.#isOther ? undefined : rolloutNodes(this.#cluster, this.members)
  }

  get hasOthers(): boolean {
    return this.members.all().length > 1
  }

  onOthers(method: string, pathOn: (nodeId: string) => string, asking: Asking): Promise<void> {
    const forward = (request: ForwardedRequest) => this.forward(request)
    const parts = { self: this.#parts.nodeId, nodes: this.members.all(), forward }
    return askOthers(parts, asking, method, pathOn)
  }

  isMember(nodeId: string): boolean {
    return this.members.get(nodeId) !== undefined
  }

  /** Rejects with `PeerError`. */
  async forward(request: ForwardedRequest): Promise<ForwardedAnswer> {
    if (this.#cluster === undefined) throw new PeerError('refused', 'This node is not in a cluster')
    return await this.#cluster.peers.forward(request)
  }

  async state(): Promise<ClusterState | undefined> {
    return this.#cluster?.state()
  }

  form({ name, address, nodeName }: Forming): Promise<void> {
    const place = readAddress(address, this.#parts.listen.port)
    return this.#alone(async () => {
      refusePendingIdentity(this.#parts.store)
      await this.#assertGround(place)
      const { nodeId, clock } = this.#parts
      const clusterId = newId()
      const sealing = newClusterKey()
      const issuers = firstIssuers(await newAuthorities(clusterId, clock.now_ms()), sealing.keyId)
      const { keys, requests } = await newRequests()
      const certified = await certify(issuers, requests, { nodeId, ...place }, clock.now_ms())
      const own: OwnMembership = { clusterId, name, nodeId, epoch: FIRST_EPOCH, keys: [sealing], ...place }
      const revocation = await revocationOf(issuers, [], 0)
      const etcd = await this.#started(
        own,
        { ...withKeys(certified, keys), revocation },
        { [nodeId]: [peerUrl(place)] },
      )
      const since = new Date(clock.now_ms()).toISOString()
      const [pair] = issuers.pairs
      const numbers = { certifiedBy: pair.number, trusts: pair.number }
      const self = memberOf(own, certified, { name: nodeName, tokenKey: this.#parts.tokenKey, since, ...numbers })
      await this.#enter(own, etcd, async () => {
        const state = this.#parts.store.folding.snapshot()
        const shared = [...state.shared, ...firstMembers(this.#parts.store, self, pair)]
        const first = { state: { ...state, shared }, position: FIRST_POSITION }
        await foundIn(etcd, new ClusterKeys(clusterId, own.keys), issuers, first)
      })
    })
  }

  async issueToken(role: JoinRole, validFor_s: number): Promise<IssuedToken> {
    const ca = () => this.#files.certificates().client.ca
    const { clock } = this.#parts
    return issueToken({ cluster: this.#inCluster(), members: this.members, ca, clock, wait: sleep }, role, validFor_s)
  }

  look(joining: Joining): Promise<JoinPreview> {
    return this.#alone(async () => {
      const { client, own } = await this.#joinClient(joining)
      const { welcome } = await refusedInWords(client.look())
      if (joining.as !== undefined) replaced(joining.as, welcome.removed)
      return previewOf(welcome, own)
    })
  }

  join(joining: Joining): Promise<void> {
    return this.#alone(async () => {
      const { client, keys, place } = await this.#joinClient(await this.#named(joining))
      const { welcome } = await refusedInWords(client.join())
      // Sound: the member has proved that it is of the cluster, and all of this version answer the same.
      await this.#take(welcome as Welcome, keys, place, joining.as)
    })
  }

  /** Finds the place to take, and its name, before the token is used. */
  async #named(joining: Joining): Promise<Joining> {
    if (joining.as === undefined) return joining
    const { client } = await this.#joinClient(joining)
    const { name } = replaced(joining.as, (await refusedInWords(client.look())).welcome.removed)
    return { nodeName: name, ...joining }
  }

  async #joinClient({ token: text, address, nodeName, as }: Joining) {
    const place = readAddress(address, this.#parts.listen.port)
    const token = parsedToken(text)
    await this.#assertGround(place)
    const { keys, requests } = await newRequests()
    const { nodeId, listen, tokenKey, clock } = this.#parts
    const joinerId = as ?? nodeId
    const { peer: peerRequest, client: clientRequest } = requests
    const own = as === undefined ? nodeRecords(configView(this.#parts.store.agreed), nodeId) : undefined
    const records = { tokenKey, isReplacing: as !== undefined, own }
    const name = nodeName ?? joinerId
    const application = { name, address: addressText(place), peerRequest, clientRequest, records }
    const client = new JoinClient({ token, joinerId, application, shownKey: keys.client, listen, clock })
    return { client, keys, place, own }
  }

  /** Called before anything is sent or written: a later failure could leave a member that never comes up. */
  #assertGround(place: NodeAddress): Promise<void> {
    const { etcdSays: says, listen } = this.#parts
    return assertGround({ says, listen }, place)
  }

  /** Joins the cluster, whose state replaces this node's store. */
  async #take(welcome: Welcome, keys: Requests, place: NodeAddress, as = this.#parts.nodeId): Promise<void> {
    const { clusterId, name, epoch, keys: sealing, certified, revocation, members, gateways } = welcome
    const own: OwnMembership = { clusterId, name, nodeId: as, epoch, keys: sealing, gateways, ...place }
    const etcd = await this.#started(own, { ...withKeys(certified, keys), revocation }, members)
    await this.#enter(own, etcd, async () => undefined)
  }

  /** Starts the etcd member of this node, and resolves when it answers. */
  async #started(
    own: OwnMembership,
    { revocation, ...certificates }: NodeCertificates & { readonly revocation: Revocation },
    members: Readonly<Record<string, readonly string[]>>,
  ): Promise<EtcdClient> {
    const { gateways = [] } = own
    const args = this.#service.argumentsOf(own, members, gateways.length === 0 ? 'new' : 'existing')
    try {
      await this.#files.prepare(certificates, revocation, args)
      const waiting = { clock: this.#parts.clock, wait: sleep }
      await startNewcomer(waiting, this.#service)
      const etcd = clientOf(this.#joinedParts, own, [...gateways, clientUrl(own)])
      await answers(etcd)
      return etcd
    } catch (error) {
      await this.#clear()
      throw error
    }
  }

  /** Nothing is written to the store until the cluster's log orders it. */
  async #enter(own: OwnMembership, etcd: EtcdClient, prepare: () => Promise<void>): Promise<void> {
    try {
      await this.#parts.store.handOver(async () => {
        await prepare()
        await this.#files.commit(own)
        this.#cluster = await JoinedCluster.begin(this.#joinedParts, own, etcd)
        this.#isOther = true
        // From here on the node is a member: the rest may come later.
        await this.#caughtUp(this.#cluster, own)
        return this.#cluster.log
      })
    } catch (error) {
      if (this.#cluster === undefined) await this.#clear()
      throw error
    }
  }

  get #joinedParts(): JoinedParts {
    const { members } = this
    const parts = { ...this.#parts, members, wait: sleep }
    const admitted: JoinedParts['admit'] = (cluster, ...joining) => letIn(parts, cluster, ...joining)
    const leave: JoinedParts['leave'] = (cluster) => this.#goAlone(cluster)
    const beginAnew = () => void (this.#isOther = true)
    const vetted: JoinedParts['vet'] = (...joining) => vet(parts, ...joining)
    const joining = { vet: vetted, admit: admitted }
    return { ...this.#parts, members, files: this.#files, service: this.#service, ...joining, leave, beginAnew }
  }

  async removeNode(id: string, isForced: boolean): Promise<void> {
    const cluster = this.#inCluster()
    await this.#oneAtATime(async () => {
      if (id === cluster.own.nodeId) return await this.#leave(cluster, isForced)
      if (cluster.removal !== undefined)
        throw new ApiError('NO_QUORUM', `This node is no longer in the cluster: ${cluster.whyRemoved}`)
      await cluster.removals.remove(id)
    })
  }

  changeSelf({ name, address }: NodeChange): Promise<void> {
    const cluster = this.#inCluster()
    return this.#oneAtATime(async () => {
      const place = address === undefined ? undefined : readAddress(address, this.#parts.listen.port)
      const parts = { cluster, members: this.members, files: this.#files, clock: this.#parts.clock, wait: sleep }
      const hasMoved = await cluster.betweenLooks(() => inTime(() => changeNode(parts, name, place)))
      this.#isOther ||= hasMoved
    })
  }

  #inCluster(): JoinedCluster {
    if (this.#cluster === undefined) throw new ApiError('NOT_FOUND', 'This node is not in a cluster; create one first')
    return this.#cluster
  }

  /** A node that was already removed need not tell the others; with force, a failure to do so is ignored. */
  async #leave(cluster: JoinedCluster, isForced: boolean): Promise<void> {
    try {
      if (cluster.removal === undefined) await cluster.removals.leave()
    } catch (error) {
      if (!isForced || !(error instanceof ApiError)) throw error
      this.#parts.log.warn('this node leaves its cluster without informing it', { why: error.message })
    }
    // A node that leaves because the others are gone goes on with their addresses.
    const goesOn = cluster.removal === undefined && this.members.get(cluster.own.nodeId) !== undefined
    await this.#becomeSingle({ ...cluster.own, goesOn }, cluster)
  }

  /** Handles the removal of this node while it was up. */
  async #goAlone(cluster: JoinedCluster): Promise<void> {
    if (this.#isChanging) return
    await this.#oneAtATime(async () => {
      if (cluster.removal?.isOut !== true) await cluster.removals.leaveEtcd()
      await this.#becomeSingle(cluster.own, cluster)
    })
  }

  /** A start after a crash in the middle continues this. */
  async #becomeSingle(own: OwnMembership, cluster?: JoinedCluster): Promise<void> {
    const { store, log } = this.#parts
    await this.#files.commit({ ...own, isLeaving: true })
    try {
      await store.standAlone(async () => {
        this.#cluster = undefined
        await cluster?.close()
        await this.#service.stop()
      })
      if (own.goesOn !== true) await leaveAddresses(store, own.nodeId)
      await this.#parts.keepSessions()
      await this.#files.leave()
    } finally {
      // The next start retries what failed.
      this.#isOther = cluster !== undefined
    }
    log.info('this node is a single node again', { cluster: own.name })
  }

  async #resume(): Promise<void> {
    const own = this.#files.read()
    if (own === undefined) return this.#files.exist ? this.#clear() : undefined
    if (own.isLeaving === true) return await this.#becomeSingle(own)
    const { log, store } = this.#parts
    try {
      if (own.isReturning === true) await startOver(store, this.#files, this.#service)
      else if (own.vote !== 'out') await startAt(own, this.#files, this.#service)
    } catch (error) {
      // The node keeps running, and can be read.
      log.error('etcd could not be started', { reason: String(error) })
    }
    this.#cluster = await JoinedCluster.begin(this.#joinedParts, own)
    store.orderBy(this.#cluster.log)
    await this.#caughtUp(this.#cluster, own)
  }

  #caughtUp({ log }: JoinedCluster, own: OwnMembership): Promise<void> {
    // The daemon's parts cannot follow a state that is no later revision.
    return caughtUp(log.caughtUp, own, this.#parts.log, () => void (this.#isOther = true))
  }

  async #clear(): Promise<void> {
    await this.#service.stop()
    await this.#files.remove()
  }

  /** Makes one change of the membership at a time, on a node that is in no cluster. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.#cluster !== undefined)
      throw new ApiError('IN_USE', `This node is already in the cluster ${this.#cluster.own.name}`)
    return await this.#oneAtATime(work)
  }

  async #oneAtATime<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isChanging)
      throw new ApiError('JOB_IN_PROGRESS', 'This node is creating, joining or leaving a cluster right now')
    this.#isChanging = true
    try {
      return await work()
    } finally {
      this.#isChanging = false
    }
  }

  async close(): Promise<void> {
    await this.#cluster?.close()
  }
}
