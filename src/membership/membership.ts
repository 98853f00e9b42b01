import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { addressText } from '../base/socket-address.ts'
import { VERSION } from '../base/version.ts'
import { pinOf, readNodeCertificate } from '../cluster/node-certificate.ts'
import { ClusterKeys, newClusterKey } from '../cluster/sealing.ts'
import type { PlanExecutor } from '../config/enactor.ts'
import type { OtherNodes } from '../config/rollout/other-nodes.ts'
import type { Asking } from '../context/asking.ts'
import type { ClusterActor, ClusterState, Forming, IssuedToken, Joining, JoinPreview } from '../context/cluster.ts'
import type { EtcdClient } from '../etcd/client.ts'
import { EtcdError } from '../etcd/errors.ts'
import type { ForwardedAnswer } from '../peers/asking.ts'
import { JoinClient } from '../peers/joining/join-client.ts'
import type { ForwardedRequest } from '../peers/peer-client.ts'
import { PeerError } from '../peers/peer-error.ts'
import { ClusterFiles, type NodeCertificates, type OwnMembership, type Revocation } from './cluster-files.ts'
import { EtcdService } from './etcd-service.ts'
import { assertGround, type EtcdGround } from './etcd-ground.ts'
import { admit, type Welcome } from './admission.ts'
import { certify, foundIn, newAuthorities, newRequests, type Requests, revocationOf, withKeys } from './foundation.ts'
import { applicantOf, parsedToken, refusedInWords, wrongAddress } from './joining-refusals.ts'
import { clientOf, JoinedCluster, type JoinedParts } from './joined-cluster.ts'
import { type Member, Members } from './members.ts'
import { inTime } from './removals.ts'
import { rolloutNodes } from './rollout-questions.ts'
import { clientUrl, type NodeAddress, parseAddress, peerUrl } from './node-address.ts'

export interface MembershipParts extends Omit<JoinedParts, 'members' | 'files' | 'service' | 'admit' | 'leave'> {
  readonly stateFolder: string
  /** Who this node is, whatever identity it has assumed. */
  readonly nodeId: string
  /** PEM: what its tokens are verified with. */
  readonly tokenKey: string
  readonly executor: PlanExecutor
  /** What the etcd beside this daemon says of its version; undefined where there is none. */
  readonly etcdSays: EtcdGround['says']
}

/** A cluster that was formed by a node begins with this epoch. */
const FIRST_EPOCH = 1
/** An empty store takes over what is at this position. */
const FIRST_POSITION = 1
const HEALTHY_WITHIN_MS = 30_000
const AGAIN_MS = 100
/** So long a start waits for the others before it goes on with what it has. */
const CATCH_UP_MS = 10_000

/** Whether this node is in a cluster, and which: forming one, and what is known of it. */
export class Membership implements ClusterActor {
  readonly members: Members
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

  /** Goes on in the cluster that the node was in. What a crash has left of forming one is cleared away. */
  static async open(parts: MembershipParts): Promise<Membership> {
    const membership = new Membership(parts)
    await membership.#resume()
    return membership
  }

  get cluster(): JoinedCluster | undefined {
    return this.#cluster
  }

  /** Has formed or joined a cluster since it was opened: what was put together for one node has to end. */
  get isOther(): boolean {
    return this.#isOther
  }

  /** What answers tell of the log; undefined on a node that is in no cluster. */
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

  async onOthers(method: string, pathOn: (nodeId: string) => string, { actor, client }: Asking): Promise<void> {
    const done = [this.#parts.nodeId]
    for (const { id, name } of this.members.all()) {
      if (id === this.#parts.nodeId) continue
      const who = { ...actor, address: client.address }
      const why = await this.#refusalOf({
        nodeId: id,
        method,
        path: pathOn(id),
        query: '',
        headers: {},
        requestId: newId(),
        who,
      })
      if (why !== undefined) {
        const nodes = [
          ...done.map((nodeId) => ({ nodeId, ok: true })),
          { nodeId: id, ok: false, step: 'ask the node', output: why },
        ]
        throw new ApiError('APPLY_PARTIAL', `The node ${name} did not do it: ${why}`, { data: { nodes } })
      }
      done.push(id)
    }
  }

  /** Undefined when the node did it. */
  async #refusalOf(request: ForwardedRequest): Promise<string | undefined> {
    try {
      const { status, body } = await this.forward(request)
      const text = (await buffer(body)).toString()
      return status < 300 ? undefined : String(Reflect.get(Object(JSON.parse(text)), 'message'))
    } catch (error) {
      if (error instanceof PeerError) return error.message
      throw error
    }
  }

  isMember(nodeId: string): boolean {
    return this.members.get(nodeId) !== undefined
  }

  /** Rejects with `PeerError`. */
  async forward(request: ForwardedRequest): Promise<ForwardedAnswer> {
    if (this.#cluster === undefined) throw new PeerError('refused', 'This node is in no cluster')
    return await this.#cluster.peers.forward(request)
  }

  async state(): Promise<ClusterState | undefined> {
    return this.#cluster?.state()
  }

  form({ name, address, nodeName }: Forming): Promise<void> {
    const place = parseAddress(address, this.#parts.listen.port)
    if (place === undefined) throw wrongAddress()
    return this.#alone(async () => {
      await this.#assertGround(place)
      const { nodeId, clock } = this.#parts
      const clusterId = newId()
      const authorities = await newAuthorities(clusterId, clock.now_ms())
      const { keys, requests } = await newRequests()
      const certified = await certify(authorities, requests, { nodeId, ...place }, clock.now_ms())
      const own: OwnMembership = { clusterId, name, nodeId, epoch: FIRST_EPOCH, keys: [newClusterKey()], ...place }
      const revocation = await revocationOf(authorities, [], 0, clock.now_ms())
      const etcd = await this.#started(
        own,
        { ...withKeys(certified, keys), revocation },
        { [nodeId]: [peerUrl(place)] },
      )
      const self = this.#memberOf(own, nodeName)
      await this.#enter(own, etcd, async () => {
        const state = this.#parts.store.folding.snapshot()
        const shared = [...state.shared, { table: 'members', key: nodeId, value: self } as const]
        const sealing = new ClusterKeys(clusterId, own.keys)
        const first = { state: { ...state, shared }, position: FIRST_POSITION, epoch: own.epoch }
        await foundIn(etcd, sealing, authorities, first)
      })
    })
  }

  async issueToken(validFor_s: number): Promise<IssuedToken> {
    const cluster = this.#cluster
    if (cluster === undefined) throw new ApiError('NOT_FOUND', 'This node is in no cluster; form one first')
    const { ca } = this.#files.certificates().client
    const addresses = this.members.all().map((member) => addressText(member))
    const token = await cluster.tokens.create(cluster.own.nodeId, pinOf(ca), addresses, validFor_s * 1000)
    const expiresAt = new Date(this.#parts.clock.now_ms() + validFor_s * 1000).toISOString()
    return { id: token.id, token: token.toText(), expiresAt }
  }

  look(joining: Joining): Promise<JoinPreview> {
    return this.#alone(async () => {
      const { client } = await this.#joinClient(joining)
      const { welcome } = await refusedInWords(client.look())
      const { clusterId, name, version, nodes, reachable, why } = welcome
      const others = nodes.map((node) => ({ id: node.id, name: node.name, address: node.address }))
      return { clusterId, name, version, nodes: others, reachable, ...(why === undefined ? {} : { why }) }
    })
  }

  join(joining: Joining): Promise<void> {
    return this.#alone(async () => {
      const { client, keys, place } = await this.#joinClient(joining)
      const { welcome } = await refusedInWords(client.join())
      // Sound: the member has shown to be of the cluster, and all of this version answer the same.
      await this.#take(welcome as Welcome, keys, place)
    })
  }

  async #joinClient({ token: text, address, nodeName: name }: Joining) {
    const place = parseAddress(address, this.#parts.listen.port)
    if (place === undefined) throw wrongAddress()
    const token = parsedToken(text)
    await this.#assertGround(place)
    const { keys, requests } = await newRequests()
    const { nodeId: joinerId, listen, tokenKey, clock } = this.#parts
    const { peer: peerRequest, client: clientRequest } = requests
    const application = { name, address: addressText(place), peerRequest, clientRequest, records: { tokenKey } }
    const client = new JoinClient({ token, joinerId, application, clientKey: keys.client, listen, clock })
    return { client, keys, place }
  }

  /** Before anything is sent or written: what is found out later may have made it a member that never comes up. */
  #assertGround(place: NodeAddress): Promise<void> {
    const { etcdSays: says, listen } = this.#parts
    return assertGround({ says, listen }, place)
  }

  /** Its store becomes that of the cluster. */
  async #take(welcome: Welcome, keys: Requests, place: NodeAddress): Promise<void> {
    const { clusterId, name, epoch, keys: sealing, certified, revocation, members, gateways } = welcome
    const own: OwnMembership = { clusterId, name, nodeId: this.#parts.nodeId, epoch, keys: sealing, ...place }
    const etcd = await this.#started(own, { ...withKeys(certified, keys), revocation }, members, gateways)
    await this.#enter(own, etcd, async () => undefined)
  }

  /** This node, as all keep it. */
  #memberOf(own: OwnMembership, name: string): Member {
    const { pin, spki, serial } = readNodeCertificate(this.#files.certificates().client.certificate)
    const peer = readNodeCertificate(this.#files.certificates().peer.certificate)
    const { nodeId: id, host, port } = own
    const since = new Date(this.#parts.clock.now_ms()).toISOString()
    const { tokenKey } = this.#parts
    return { id, name, host, port, pin, spki, serials: [serial, peer.serial], tokenKey, version: VERSION, since }
  }

  /** The member of etcd that runs beside this node from now on, when it answers. */
  async #started(
    own: OwnMembership,
    { revocation, ...certificates }: NodeCertificates & { readonly revocation: Revocation },
    members: Readonly<Record<string, readonly string[]>>,
    others: readonly string[] = [],
  ): Promise<EtcdClient> {
    const args = this.#service.argumentsOf(own, members, others.length === 0 ? 'new' : 'existing')
    try {
      await this.#files.prepare(certificates, revocation, args)
      await this.#service.restart()
      const etcd = clientOf(this.#joinedParts, own, [...others, clientUrl(own)])
      await answers(etcd)
      return etcd
    } catch (error) {
      await this.#clear()
      throw error
    }
  }

  /** Nothing is written to the store until it is ordered by the log of the cluster. */
  async #enter(own: OwnMembership, etcd: EtcdClient, prepare: () => Promise<void>): Promise<void> {
    try {
      await this.#parts.store.handOver(async () => {
        await prepare()
        await this.#files.commit(own)
        this.#cluster = await JoinedCluster.begin(this.#joinedParts, own, etcd)
        this.#isOther = true
        // From here on it is a member: what is late comes later.
        await this.#waitFor(this.#cluster)
        return this.#cluster.log
      })
    } catch (error) {
      if (this.#cluster === undefined) await this.#clear()
      throw error
    }
  }

  get #joinedParts(): JoinedParts {
    const { members } = this
    const admitted: JoinedParts['admit'] = (cluster, application, _token, id) =>
      admit(cluster, members, applicantOf(application, id), this.#parts.clock, sleep)
    const leave: JoinedParts['leave'] = (cluster) => this.#goAlone(cluster)
    return { ...this.#parts, members, files: this.#files, service: this.#service, admit: admitted, leave }
  }

  async removeNode(id: string, isForced: boolean): Promise<void> {
    const cluster = this.#cluster
    if (cluster === undefined) throw new ApiError('NOT_FOUND', 'This node is in no cluster')
    await this.#oneAtATime(async () => {
      if (id === cluster.own.nodeId) return await this.#leave(cluster, isForced)
      if (cluster.removal !== undefined)
        throw new ApiError('NO_QUORUM', `This node is none of the cluster: ${cluster.log.halted}`)
      await cluster.removals.remove(id)
    })
  }

  /** Whoever was removed already has nobody to tell. */
  async #leave(cluster: JoinedCluster, isForced: boolean): Promise<void> {
    const self = this.members.get(cluster.own.nodeId)
    if (cluster.removal === undefined && !isForced && self !== undefined) {
      await cluster.removals.mark(self.id)
      // Before its member ends: without it, those who stay may not be enough.
      await inTime(() => cluster.removals.takeFromEtcd(self))
    }
    await this.#becomeSingle(cluster.own, cluster)
  }

  /** It was removed while it was there. */
  async #goAlone(cluster: JoinedCluster): Promise<void> {
    if (this.#isChanging) return
    await this.#oneAtATime(async () => {
      const removed = this.members.removalOf(cluster.pin)
      if (removed?.stage === 'marked' && cluster.removal?.isOut !== true)
        await cluster.removals.takeFromEtcd(removed.member)
      await this.#becomeSingle(cluster.own, cluster)
    })
  }

  /** A crash in the middle of it is a start that goes on with it. */
  async #becomeSingle(own: OwnMembership, cluster?: JoinedCluster): Promise<void> {
    const { store, log } = this.#parts
    await this.#files.commit({ ...own, isLeaving: true })
    try {
      await store.standAlone(async () => {
        this.#cluster = undefined
        await cluster?.close()
        await this.#service.stop()
      })
      await this.#files.leave()
    } finally {
      // What failed is tried again by what is put together next.
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
      await this.#service.start()
    } catch (error) {
      // What runs goes on, and can be read.
      log.error('etcd could not be started', { reason: String(error) })
    }
    this.#cluster = await JoinedCluster.begin(this.#joinedParts, own)
    store.orderBy(this.#cluster.log)
    await this.#waitFor(this.#cluster)
  }

  async #waitFor({ log }: JoinedCluster): Promise<void> {
    const isLate = sleep(CATCH_UP_MS, 'late' as const, { ref: false })
    if ((await Promise.race([log.caughtUp, isLate])) === 'late')
      this.#parts.log.warn('too few nodes of the cluster answer; this one goes on with what it has')
  }

  async #clear(): Promise<void> {
    await this.#service.stop()
    await this.#files.remove()
  }

  /** One change of the membership at a time, on a node that is in no cluster. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.#cluster !== undefined)
      throw new ApiError('IN_USE', `This node is in the cluster ${this.#cluster.own.name}`)
    return await this.#oneAtATime(work)
  }

  async #oneAtATime<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isChanging) throw new ApiError('JOB_IN_PROGRESS', 'This node forms, joins or leaves a cluster right now')
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

/** Resolves when etcd takes requests. */
async function answers(etcd: EtcdClient): Promise<void> {
  const until_ms = performance.now() + HEALTHY_WITHIN_MS
  for (;;) {
    try {
      await etcd.range({ key: '/f/seq' })
      return
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error
      if (performance.now() > until_ms) {
        throw new ApiError('NOT_SUPPORTED', `etcd was started and does not answer: ${error.message}`)
      }
    }
    await sleep(AGAIN_MS)
  }
}
