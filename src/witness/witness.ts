import type { MachineClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Repeated } from '../base/repeated.ts'
import { VERSION } from '../base/version.ts'
import { requestFor } from '../cluster/authority.ts'
import type { PlanExecutor } from '../config/enactor.ts'
import { EtcdClient } from '../etcd/client.ts'
import type { MemberStatus } from '../etcd/maintenance.ts'
import { socketUrl } from '../etcd/member.ts'
import type { EtcdGround } from '../membership/etcd-ground.ts'
import { EtcdService } from '../membership/etcd-service.ts'
import { EtcdSpace } from '../membership/etcd-space.ts'
import { isSamePlace, type NodeAddress, peerUrl } from '../membership/node-address.ts'
import { answering } from '../membership/questions.ts'
import { WITNESS, type WitnessOrders, type WitnessState } from '../membership/witness-orders.ts'
import { PeerServer } from '../peers/peer-server.ts'
import { askStanding } from '../peers/standing.ts'
import { Application } from './application.ts'
import { TokenFile } from './token-file.ts'
import { type OwnWitness, WitnessFiles } from './witness-files.ts'

export interface WitnessParts {
  readonly stateFolder: string
  /** The address at which nodes reach the witness. */
  readonly peer: NodeAddress
  readonly executor: PlanExecutor
  readonly etcdSays: EtcdGround['says']
  /** Reports the state, in one line for people. */
  readonly tell: (how: string) => void
  readonly clock: MachineClock
  readonly log: Log
  readonly wait: (ms: number) => Promise<unknown>
}

const LOOK_EVERY_MS = 1_000
const STATUS_PATIENCE_MS = 1_500
const RESTARTED_WITHIN_MS = 20_000
const AGAIN_MS = 100
/** On a socket no certificate is presented. */
const NO_CREDENTIALS = { ca: '', certificate: '', key: '' }

/**
 * A third vote for a cluster, on a third site: a member of etcd, and this class, which follows the nodes' orders. It
 * has neither the configuration nor a key that opens it.
 */
export class Witness {
  readonly #parts: WitnessParts
  readonly #files: WitnessFiles
  readonly #service: EtcdService
  readonly #etcd: EtcdClient
  readonly #space: EtcdSpace
  readonly #token: TokenFile
  readonly #application: Application
  readonly #looks: Repeated
  #own: OwnWitness | undefined
  #server: PeerServer | undefined
  /** Serialises the work on its etcd and its files. */
  #turn: Promise<unknown> = Promise.resolve()
  #isLooking = false
  #isClosed = false
  #how = ''

  private constructor(parts: WitnessParts) {
    const { stateFolder, executor, clock, log } = parts
    this.#parts = parts
    this.#files = new WitnessFiles(stateFolder)
    this.#service = new EtcdService(executor, this.#files.cluster)
    const url = socketUrl(this.#files.cluster)
    this.#etcd = new EtcdClient({ gateways: [url], credentials: NO_CREDENTIALS, clock })
    this.#space = new EtcdSpace({ etcd: this.#etcd, urls: () => [url], clock, log })
    this.#token = new TokenFile(stateFolder)
    this.#application = new Application({ ...parts, files: this.#files, token: this.#token, service: this.#service })
    this.#looks = new Repeated('the witness', () => this.#look(), LOOK_EVERY_MS, log)
  }

  /** Continues as the witness that it was, or waits for a token. */
  static async open(parts: WitnessParts): Promise<Witness> {
    const witness = new Witness(parts)
    const own = witness.#files.read()
    if (own !== undefined) await witness.#begin(own)
    await witness.#looks.now()
    witness.#looks.start()
    return witness
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#looks.stop()
    await this.#server?.close()
    await this.#turn
    this.#etcd.close()
  }

  /** Starts the service for nodes. `--peer` gives this machine's address; it must be the one by which nodes know it. */
  async #begin(own: OwnWitness): Promise<void> {
    const { peer, log } = this.#parts
    if (!isSamePlace(own, peer))
      throw new Error(
        `the nodes know this witness at ${own.host}:${own.port}; start it with that address, or remove it and let it join again`,
      )
    await this.#settle(own)
    // Repeated here for a start that follows a crash.
    await this.#files.dropApplying()
    this.#token.remove()
    const handle = answering({ [WITNESS]: (orders) => this.#answer(orders) }, () => ({ status: 404, headers: {} }))
    const credentials = this.#files.credentials()
    // Only nodes have client certificates, and those of removed nodes are in the revocation lists.
    const memberOf = (_pin: string, nodeId: string) => nodeId
    this.#server = await PeerServer.open({ address: peer, credentials, memberOf, handle, log })
    this.#own = own
  }

  /**
   * Moves etcd to the current socket. Earlier versions used another one: it is stopped, and the next look starts it at
   * the new one.
   */
  async #settle(own: OwnWitness): Promise<void> {
    const { cluster } = this.#files
    if (cluster.hasArgument(`--listen-client-urls=${socketUrl(cluster)}`)) return
    await this.#service.stop()
    await this.#files.keepArguments(this.#service.witnessArgumentsOf(own, { [own.nodeId]: [peerUrl(own)] }))
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      await this.#inTurn(() => (this.#own === undefined ? this.#apply() : this.#upkeep(this.#own)))
    } finally {
      this.#isLooking = false
    }
  }

  async #apply(): Promise<void> {
    // If an earlier look was admitted, its port may have been taken.
    const own = this.#files.read() ?? (await this.#askToBeLetIn())
    if (own === undefined) return
    await this.#begin(own)
    await this.#upkeep(own)
  }

  #askToBeLetIn(): Promise<OwnWitness | undefined> {
    this.#say(`waits for a token in ${this.#token.path}`)
    return this.#application.look()
  }

  async #upkeep(own: OwnWitness): Promise<void> {
    const status = await this.#status()
    // The signal that ends this daemon may be ending the member as well.
    if (this.#isClosed) return
    // A removed member ends after each start, so the nodes are asked although it did not start.
    const fault = status === undefined ? await this.#service.start().catch((error: unknown) => error) : undefined
    const hasLeader = follows(status)
    if (this.#token.removeLeft(this.#parts.clock.monotonic_ms(), !hasLeader))
      this.#parts.log.warn('this witness already votes: the token left in its folder is removed')
    this.#say(hasLeader ? `votes in the cluster ${own.name}` : `can reach too few voters of the cluster ${own.name}`)
    if (status !== undefined && hasLeader) await this.#space.lookAlone(status)
    else if (await this.#isRemoved(own)) await this.#goOut(own)
    else if (fault !== undefined) throw fault
  }

  #status(): Promise<MemberStatus | undefined> {
    const at = socketUrl(this.#files.cluster)
    return this.#etcd.maintenance.status({ at, timeout_ms: STATUS_PATIENCE_MS }).catch(() => undefined)
  }

  /**
   * Returns whether the witness was removed. It cannot tell this from being cut off, so it asks the nodes that it
   * knows.
   */
  async #isRemoved({ nodes }: OwnWitness): Promise<boolean> {
    const credentials = this.#files.credentials()
    for (const { id: nodeId, pin, host, port } of nodes)
      if ((await askStanding({ at: { host, port }, nodeId, pin, credentials })) !== undefined) return true
    return false
  }

  /** Leaves the cluster. No data is lost: the witness's data is sealed, and all nodes have it. */
  async #goOut({ name }: OwnWitness): Promise<void> {
    await this.#server?.close()
    this.#server = undefined
    await this.#service.stop()
    await this.#files.cluster.remove()
    this.#own = undefined
    this.#parts.log.warn('this witness was removed from its cluster, and has forgotten it', { name })
  }

  /** Answers a node; no other caller gets here. */
  #answer(asked: unknown): Promise<WitnessState> {
    // Sound: nodes are of the version of this witness.
    return this.#inTurn(() => this.#obey(asked as WitnessOrders))
  }

  async #obey({ nodes, trust, certified, leader, isRequested, isReplaced }: WitnessOrders): Promise<WitnessState> {
    const files = this.#files
    if (this.#own === undefined) throw new Error('it is not the witness of a cluster')
    if (nodes !== undefined) {
      this.#own = { ...this.#own, nodes }
      await files.commit(this.#own)
    }
    if (certified !== undefined) await files.keepCertified(certified)
    if (trust !== undefined) await files.keepTrust(trust, false)
    if (certified !== undefined || trust !== undefined) this.#server?.present(files.credentials())
    if (trust !== undefined) await this.#putInForce()
    if (isReplaced === true) await this.#beginAnew()
    if (leader !== undefined) await this.#etcd.maintenance.moveLeader(leader)
    const { serials, authorities, isInForce } = files.cluster.trust()
    const { notAfter_ms, key } = files.credentials()
    return {
      version: VERSION,
      nodes: this.#own.nodes,
      trust: { serials, authorities, isInForce },
      notAfter_ms,
      hasLeader: follows(await this.#status()),
      ...(isRequested === true ? { request: await requestFor(key) } : {}),
    }
  }

  /** Starts the member with an empty database. It has no vote yet, so its data does not count. */
  async #beginAnew(): Promise<void> {
    await this.#service.stop()
    await this.#files.cluster.wipeData()
    await this.#service.start()
    this.#parts.log.warn('the etcd member of this witness did not start, and is created anew')
  }

  /** Restarts etcd, which reads authorities only at its start; it reads a revocation list at each connection. */
  async #putInForce(): Promise<void> {
    const { clock, wait, log } = this.#parts
    await this.#service.restart()
    const until_ms = clock.monotonic_ms() + RESTARTED_WITHIN_MS
    while (clock.monotonic_ms() < until_ms && !follows(await this.#status())) await wait(AGAIN_MS)
    await this.#files.cluster.keepTrust({ ...this.#files.cluster.trust(), isInForce: true })
    const { serials, authorities } = this.#files.cluster.trust()
    log.info('etcd uses other certificates on this witness', {
      revoked: serials.length,
      authorities: authorities.join(),
    })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => undefined)
    return done
  }

  #say(how: string): void {
    if (how === this.#how) return
    this.#how = how
    this.#parts.tell(how)
  }
}

const follows = (status: MemberStatus | undefined): boolean => status !== undefined && status.leader !== '0'
