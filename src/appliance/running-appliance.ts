import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasNames } from '../drivers/haproxy/host-names.ts'
import { chosenCertificate } from '../listeners/lent-certificate.ts'
import { type FirstAdministrator, passwordWasShown } from '../auth/first-start.ts'
import { CertificateWatch, certificatesIn, clientAuthoritiesIn } from '../watches/certificate-watch.ts'
import { apiCertificate } from '../listeners/own-certificate.ts'
import { Confirmation } from '../watches/confirmation.ts'
import { defer } from '../base/deferred.ts'
import type { Made } from './capabilities.ts'
import type { Demo } from './demo.ts'
import { type Answer, collect } from '../http/envelope.ts'
import type { Incoming } from '../http/incoming.ts'
import type { Pipeline } from '../http/pipeline.ts'
import { type Handler, type Listener, requestIds } from '../http/server.ts'
import { newId } from '../base/ids.ts'
import { Repeated } from '../base/repeated.ts'
import type { Node, Part } from './node.ts'
import { PATIENCE_MS, TIME } from '../membership/all-nodes.ts'
import { ClusterFiles } from '../membership/cluster-files.ts'
import { ClockWatch, type ClockTold } from '../membership/clock-watch.ts'
import { ClusterWatch } from '../membership/cluster-watch.ts'
import { askNode } from '../membership/questions.ts'
import { TableSharing } from '../membership/table-sharing.ts'
import { NetworkUpkeep } from '../watches/network-upkeep.ts'
import { SandboxWatch } from '../watches/sandbox-watch.ts'
import { NameWatch } from '../watches/name-watch.ts'
import { NameServers } from '../watches/name-servers.ts'
import { SharingUpkeep } from '../watches/sharing-upkeep.ts'
import { StoreWatch } from '../watches/store-watch.ts'
import type { PeerAnswer, PeerRequest } from '../peers/answering.ts'
import { Supervision } from '../watches/supervision.ts'
import { VERSION } from '../base/version.ts'
import type { EventData } from '../model/job.ts'

export interface Appliance {
  readonly nodeId: string
  readonly firstAdministrator: FirstAdministrator | undefined
  passwordWasShown(): Promise<void>
  /** Handles a request without a socket: routing, access and validation as for every request. */
  inject(incoming: Incoming): Promise<Answer>
  /** Answers a request that another node of the cluster has forwarded. */
  handleForwarded(request: PeerRequest): Promise<PeerAnswer>
  /** Opens the listeners, or takes them over from the appliance before in this process. */
  listen(before?: Appliance): Promise<readonly Listener[]>
  /**
   * Brings the machine in line with the running configuration and starts to watch it. Returns the URL of the
   * demonstration, if there is one.
   */
  run(): Promise<{ readonly demoUrl: string | undefined }>
  /** Resolves when the node has assumed another identity: the appliance for the old one must end. */
  readonly reborn: Promise<void>
  /** Resolves with the reason why another process must replace this one. */
  readonly failed: Promise<string>
  /** The addresses on which the HAProxy of this daemon serves; empty if it manages none. */
  serves(): readonly string[]
  /** Returns the reason if something that should have ended did not. */
  close(options?: Closing): Promise<string | undefined>
}

interface Closing {
  readonly keepsPrograms?: boolean
  /** Requests that arrive in the meantime are asked to retry: the next appliance takes over this one's listeners. */
  readonly rests?: boolean
}

const LOOK_WHO_EVERY_MS = 500
const FOLLOW_EVERY_MS = 1_000
const WATCH_EVERY_MS = 1_000
const CLOCKS_EVERY_MS = 30_000
const LEFT_SESSIONS_EVERY_MS = 10_000
/** A stop waits this long for requests other than applies, and then cuts them off. */
const ANSWERS_MS = 2_000

/** The assembled appliance: starts, answers and stops. */
export class RunningAppliance implements Appliance {
  readonly #node: Node
  readonly #demo: Demo
  readonly #pipeline: Pipeline
  readonly #handle: Handler
  /** The parts start in this order and close in reverse. */
  readonly #parts: readonly Part[]
  readonly #sharing: SharingUpkeep
  readonly #reborn = defer()
  readonly #failed = defer<string>()
  #rests = false
  #identityTimer: NodeJS.Timeout | undefined
  readonly #nextId = requestIds(newId().slice(0, 13))

  constructor(node: Node, made: Pick<Made, 'demo' | 'parts'>, pipeline: Pipeline, handle: Handler) {
    this.#node = node
    this.#demo = made.demo
    this.#pipeline = pipeline
    this.#handle = handle
    this.#sharing = createSharing(node)
    this.#parts = [
      node.archives,
      node.events,
      node.audit,
      // Jobs close after the engine: an apply that a job waits for ends, and its end is recorded.
      { close: () => node.jobs.close() },
      { start: () => this.#converge(), close: () => node.engine.released() },
      node.membership,
      { close: () => this.#endListening() },
      createLeftSessions(node),
      createConfirmation(node),
      createFollowing(node),
      ...(node.settings.observe === undefined ? [this.#sharing, createNameServers(node), createNameWatch(node)] : []),
      createClusterWatch(node),
      createClockWatch(node),
      createSupervision(node),
      createStoreWatch(node, this.#failed.resolve),
      ...made.parts,
      createCertificateWatch(node),
      { start: () => this.#watchIdentity(), close: () => clearInterval(this.#identityTimer) },
      // In trial the network and the SNMP agent are only recorded.
      ...(node.settings.profile === 'appliance' ? [new NetworkUpkeep(node), new SandboxWatch(node), node.snmp] : []),
      { close: () => made.demo.close() },
    ]
  }

  /** If an apply changed the node's id, it is answered before anything ends. */
  get reborn(): Promise<void> {
    return this.#reborn.promise
  }

  get failed(): Promise<string> {
    return this.#failed.promise
  }

  get nodeId(): string {
    return this.#node.nodeId
  }
  get firstAdministrator(): FirstAdministrator | undefined {
    return this.#node.access.firstAdministrator
  }

  /** The start got far enough to show the password: the next one generates no new one. */
  passwordWasShown(): Promise<void> {
    return passwordWasShown(this.#node.store)
  }

  async inject(incoming: Incoming): Promise<Answer> {
    return collect(this.#handle(incoming, this.#nextId()))
  }

  handleForwarded(request: PeerRequest): Promise<PeerAnswer> {
    return this.#pipeline.handleForwarded(request)
  }

  async listen(before?: Appliance): Promise<readonly Listener[]> {
    const { listeners } = this.#node
    if (before instanceof RunningAppliance) listeners.takeOver(before.#node.listeners)
    else await listeners.open()
    return listeners.all
  }

  async run(): Promise<{ readonly demoUrl: string | undefined }> {
    const { events, nodeId, settings } = this.#node
    for (const part of this.#parts) await part.start?.()
    events.publish('node', { state: 'started', version: VERSION, nodeId })
    const isFirstTrial = this.firstAdministrator !== undefined && settings.profile === 'trial'
    const wantsDemo = settings.demo ?? (isFirstTrial || this.#demo.exists)
    return { demoUrl: wantsDemo ? await this.#demo.start() : undefined }
  }

  /** Brings the machine in line with the running configuration, and lets the API listen accordingly. */
  async #converge(): Promise<void> {
    const { engine, listeners, log } = this.#node
    await this.#sharing.begin()
    const isManaged = managesHaproxy(this.#node)
    try {
      const result = await engine.converge(({ name }) => name !== 'layer7proxy' || isManaged)
      if (!result.ok)
        log.warn('the machine differs from the running configuration', { why: result.why, reason: result.output })
    } catch (error) {
      // On a full disk a user who could free space must be able to log in; the watches retry whatever is left to do.
      log.warn('the machine differs from the running configuration', { reason: String(error) })
    }
    await listeners.settle()
  }

  #watchIdentity(): void {
    this.#identityTimer = setInterval(() => this.#lookWho(), LOOK_WHO_EVERY_MS).unref()
  }

  /** Checks the node's identity. The apply that changed it is answered first. */
  #lookWho(): void {
    const { engine, identity, membership, nodeId } = this.#node
    if (!engine.busy && this.#pipeline.isQuiet && (identity() !== nodeId || membership.isOther)) this.#reborn.resolve()
  }

  serves(): readonly string[] {
    const { settings, running } = this.#node
    if (settings.observe !== undefined) return []
    const frontends = [...running.list('l7Frontends')].filter(({ enabled }) => enabled)
    return frontends.map(({ ip, ports }) => `${ip.includes(':') ? `[${ip}]` : ip}:${ports}`)
  }

  async #endListening(): Promise<void> {
    if (this.#rests) return
    const { listeners } = this.#node
    await this.#answered(listeners.stop())
    await listeners.close()
  }

  /** Waits for running requests: an apply is never cut off by a stop. */
  async #answered(all: Promise<void>): Promise<void> {
    const { engine } = this.#node
    const patience = engine.released().then(() => sleep(ANSWERS_MS, undefined, { ref: false }))
    await Promise.race([all, patience])
    await engine.released()
  }

  /** Closes a part. If one fails to close, because of the disk for example, the others still close. */
  async #closed(part: Part): Promise<void> {
    try {
      await part.close?.()
    } catch (error) {
      this.#node.log.warn('a part of the daemon did not stop cleanly', { reason: String(error) })
    }
  }

  async close({ keepsPrograms = false, rests = false }: Closing = {}): Promise<string | undefined> {
    const { events, listeners, machine, membership, nodeId, store } = this.#node
    membership.cluster?.leaveEtcd()
    events.publish('node', { state: 'stopping', nodeId })
    this.#rests = rests
    if (rests) {
      await this.#answered(listeners.rest())
      listeners.cut()
    }
    for (const part of this.#parts.toReversed()) await this.#closed(part)
    const left = keepsPrograms ? undefined : await machine.stopSupervised()
    await machine.close()
    await store.close()
    return left
  }
}

/**
 * Whether the daemon manages HAProxy: an appliance's HAProxy is left as found until something of Layer 7 was applied.
 */
function managesHaproxy({ settings, running }: Node): boolean {
  if (settings.observe !== undefined) return false
  if (settings.profile === 'trial') return true
  return [...running.list('l7Frontends'), ...running.list('l7Backends')].length > 0
}

/**
 * Ends sessions that no longer give access; they must not become valid again with a permission from a later apply, nor
 * on another node after a time without a quorum.
 */
function createLeftSessions({ access, log }: Node): Part {
  const look = async () => {
    await access.endNobodys()
    await access.payOwed()
  }
  const looks = new Repeated('sessions that have ended', look, LEFT_SESSIONS_EVERY_MS, log)
  const start = () => {
    looks.start()
    // Without a quorum this waits, and holds nothing else up.
    void looks.now()
  }
  return { start, close: () => looks.stop() }
}

function createConfirmation(node: Node): Confirmation {
  return new Confirmation({ ...node, onTakenBack: ({ live }) => node.audit.recordTakenBack(live) })
}

/** Creates the watch for applies that other nodes made without this one, and for those whose leading node is away. */
function createFollowing({ engine, log }: Node): Part {
  const looks = new Repeated('applies of other nodes', () => engine.participant?.look(), FOLLOW_EVERY_MS, log)
  return { start: () => looks.start(), close: () => looks.stop() }
}

function createSharing(node: Node): SharingUpkeep {
  const { membership, stateFolder, clock, sharing: here } = node
  const { members } = membership
  const own = () => membership.cluster?.own
  const tables = new TableSharing({ own, files: new ClusterFiles(stateFolder), members, clock })
  const [wanted, revision] = [() => tables.now(), () => node.store.revision]
  return new SharingUpkeep({ ...node, here, wanted, revision, isOurs: () => managesHaproxy(node) })
}

function createNameServers(node: Node): Part {
  const { nameServers: here, running, machine } = node
  const isAsked = () => managesHaproxy(node) && hasNames(running, 'live')
  return new NameServers({ ...node, here, read: () => machine.nameServers(), isAsked })
}

function createNameWatch(node: Node): NameWatch {
  const { layer7, store } = node
  const figure = (key: string, column: string) => layer7.live.figure(key, column)
  return new NameWatch({ ...node, figure, revision: () => store.runningVersion })
}

function createClusterWatch({ membership, events, clock, log }: Node): Part {
  const tell = (data: EventData<'cluster'>) => events.publish('cluster', data)
  const { members } = membership
  const watch = new ClusterWatch({ cluster: () => membership.cluster, members, tell, clock })
  const looks = new Repeated('the members of the cluster', () => watch.look(), WATCH_EVERY_MS, log)
  // The nodes present now are known; one that joins a moment later is reported then.
  const start = () => {
    looks.start()
    return looks.now()
  }
  return { start, close: () => looks.stop() }
}

function createClockWatch({ nodeId: self, membership, events, clock, log }: Node): Part {
  const ask = async (nodeId: string) => {
    const question = { nodeId, path: TIME, body: {}, timeout_ms: PATIENCE_MS }
    // Sound: an answer of another form, from another version, differs by no number.
    return (await askNode(membership, question)) as ClockTold
  }
  const tell = (data: EventData<'cluster'>) => events.publish('cluster', data)
  const watch = new ClockWatch({ self, members: membership.members, ask, tell, clock })
  const looks = new Repeated('the clocks of the cluster', () => watch.look(), CLOCKS_EVERY_MS, log)
  return { start: () => looks.start(), close: () => looks.stop() }
}

function createSupervision(node: Node): Supervision {
  return new Supervision(
    node.engine,
    () => node.layer7.state(),
    () => managesHaproxy(node),
    node.clock,
    node.log,
    (up, reason) => node.events.publish('node', { state: up ? 'haproxy up' : 'haproxy down', reason }),
  )
}

function createStoreWatch({ store, layer7, layer4, ...ground }: Node, end: (reason: string) => void): StoreWatch {
  const ofArchive = ({ kept: { storage } }: typeof layer7 | typeof layer4) =>
    storage?.isFinal === true ? storage.reason : undefined
  const failure = () => store.failure ?? ofArchive(layer7) ?? ofArchive(layer4)
  return new StoreWatch({ ...ground, failure, end })
}

function createCertificateWatch(node: Node): CertificateWatch {
  const { running, nodeId, stateFolder } = node
  const own = join(stateFolder, 'tls')
  // The node's own counts only while the API presents it.
  const certificates = () => [
    ...(chosenCertificate(running, nodeId) === undefined ? apiCertificate(own) : []),
    ...certificatesIn(running),
    ...clientAuthoritiesIn(running),
  ]
  return new CertificateWatch({ ...node, certificates })
}
