import { join } from 'node:path'
import { ADMINISTRATOR } from '../api/access.ts'
import { Audit } from '../audit/audit.ts'
import { AccessControl } from '../auth/access.ts'
import type { Amend } from '../auth/login.ts'
import { radiusLogin } from '../auth/radius-login.ts'
import { type MachineClock, systemClock } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import { VERSION } from '../base/version.ts'
import { amendRecord } from '../config/amend-record.ts'
import type { ApplyEngine } from '../config/apply.ts'
import { Editing } from '../config/editing.ts'
import { configView } from '../config/views.ts'
import { LOG_RING } from '../drivers/haproxy/access-log.ts'
import { AGENTX_SOCKET } from '../drivers/snmpd/render.ts'
import { nodeIn } from '../drivers/this-node.ts'
import { Events } from '../events/events.ts'
import { healthEvents } from '../events/health-events.ts'
import { withFrontPage } from '../http/front-page.ts'
import type { OtherNodes } from '../http/forwarding.ts'
import { metricsOnly } from '../http/metrics-only.ts'
import { API_PREFIX, Pipeline } from '../http/pipeline.ts'
import { sendingRefusedOn } from '../http/refused-at-page.ts'
import { type Handler, requestIds } from '../http/server.ts'
import { Director, keepalivedRuns } from '../ipvs/director.ts'
import { Jobs } from '../jobs/jobs.ts'
import { ApiListeners } from '../listeners/api-listeners.ts'
import { ensureCertificate } from '../listeners/own-certificate.ts'
import type { ServerState } from '../../workers/logs/forwarder.ts'
import { AccessLogs } from '../logs/access-logs.ts'
import type { Machine } from '../machine/machine.ts'
import { ClusterFiles } from '../membership/cluster-files.ts'
import { isNodeUpdate, NODE_UPDATE } from '../machine/updates/node-update.ts'
import { addressAnswers } from '../membership/addresses.ts'
import { APPLIED, CONNECTIONS, LAYER_4, TIME } from '../membership/all-nodes.ts'
import { cutOff } from '../membership/cut-off.ts'
import { answeringHistories, HISTORY } from '../membership/histories.ts'
import { INTERFACES } from '../membership/interfaces.ts'
import { answerFact, FACT, ownFacts } from '../membership/node-facts.ts'
import { Membership, type MembershipParts } from '../membership/membership.ts'
import { clusterPorts } from '../membership/node-address.ts'
import { answeringKnows, KNOWS } from '../membership/promotion.ts'
import { answering } from '../membership/questions.ts'
import { answeringRollouts, ROLLOUT } from '../membership/rollout-questions.ts'
import { observedHaproxy } from '../observe/observed-haproxy.ts'
import { endpoints } from '../resources/index.ts'
import type { Settings } from '../settings.ts'
import { FulcrumAgent } from '../snmp/fulcrum-agent.ts'
import { ArchiveThreadKeeper } from '../stats/archive-thread.ts'
import { Layer7Stats } from '../stats/layer7-stats.ts'
import { toldOf } from '../stats/layer4-of-nodes.ts'
import { LAYER4_ARCHIVE, Layer4Stats, type Layer4StatsOptions } from '../stats/layer4-stats.ts'
import type { ObjectNames } from '../stats/names.ts'
import { RunningNames } from '../stats/running-names.ts'
import type { NameServersHere } from '../watches/name-servers.ts'
import type { SharingHere } from '../watches/sharing-upkeep.ts'
import { createCapabilities, type Made } from './capabilities.ts'
import { createEngine, promotionOf } from './create-engine.ts'
import { figuresOf } from './figures.ts'
import type { Ground, Node } from './node.ts'
import { ensureNodeId } from './node-identity.ts'
import { toldConnections } from './open-connections.ts'
import { openStore } from './opened-store.ts'
import { contexts } from './request-context.ts'
import { type Appliance, RunningAppliance } from './running-appliance.ts'

/** The composition root: everything is created and connected here, and nowhere else. */
export async function createAppliance(
  settings: Settings,
  machine: Machine,
  log: Log,
  clock: MachineClock = systemClock,
  nodes?: OtherNodes,
): Promise<Appliance> {
  let joined: Membership | undefined
  const nodeIds = () => joined?.members.all().map(({ id }) => id) ?? []
  const ground = await prepareGround(settings, machine, log, clock, nodeIds)
  const { store, running, nodeId } = ground
  // Until the node is complete, questions get no answer; entries that are read by then reach its engine later.
  let hasBegun = false
  const amend: Amend = (section, id, change) =>
    amendRecord({ store, onPromoted: promotionOf(access), engine }, section, id, change)
  const { administrator } = settings
  const access = await AccessControl.open({ ...ground, endpoints, administrator, external: radiusLogin(ground), amend })
  const membership = await createMembership(ground, access, {
    handle: answering(
      {
        [ROLLOUT]: answeringRollouts((question) => engine.participant?.answer(question)),
        [INTERFACES]: () => ground.facts.interfaces(),
        [FACT]: (question) => (hasBegun ? answerFact(ownFacts({ ...ground, listeners }), question) : undefined),
        [LAYER_4]: async () => (hasBegun ? toldOf(layer4.live) : undefined),
        [APPLIED]: async () => (hasBegun ? engine.here : undefined),
        [CONNECTIONS]: async (question) =>
          hasBegun ? toldConnections({ settings, layer7, layer4 }, question) : undefined,
        [TIME]: async () => ({ now_ms: clock.now_ms() }),
        [NODE_UPDATE]: (question) => (hasBegun && isNodeUpdate(question) ? made.shareOf(question) : undefined),
        ...addressAnswers(() => (hasBegun ? made.here : undefined)),
        [KNOWS]: answeringKnows(() => membership.members),
        [HISTORY]: answeringHistories(() => membership.cluster?.succession.histories),
      },
      (request) => pipeline.handleForwarded(request),
    ),
    onFolded: () => hasBegun && engine.participant?.folded(),
  })
  joined = membership
  const editing = new Editing(store, ADMINISTRATOR.id)
  const observed = observedHaproxy(settings, store)
  const events = new Events(store.events, clock, log)
  const jobs = new Jobs(store.jobs, events, clock, log)
  const audit = new Audit({ ...ground, days: settings.auditDays, events })
  const figures = figuresOf(settings, machine, new RunningNames(running, () => store.runningVersion))
  const told = { onHealth: healthEvents(events, running), applianceId: nodeId, log, clock }
  const director = createDirector(ground, events)
  const layer4Names = new RunningNames(running, () => store.runningVersion, 4)
  const layer4 = createLayer4(ground, { names: layer4Names, isChanging: () => engine.busy, director, ...told })
  const layer7 = new Layer7Stats({ ...figures, ...told })
  // A daemon that only watches a HAProxy stores no figures of the kernel.
  const sides = { layer7, layer4: settings.observe === undefined ? layer4 : undefined }
  const archives = await ArchiveThreadKeeper.open(sides, log, clock, machine.startArchives)
  const asked: Handler = (incoming, requestId) => pipeline.handle(incoming, requestId)
  const handle = withFrontPage(sendingRefusedOn(asked, API_PREFIX, endpoints))
  const answer = metricsOnly({ answer: (accept) => made.capabilities.metrics.answer(accept) }, log)
  const listeners = createListeners({ ...ground, membership }, handle, answer)
  const accessLogs = createAccessLogs(ground, events)
  const names = { layer7: figures.names, layer4: layer4Names }
  const figuresKept = { layer4, layer7, archives, accessLogs, names }
  const beneath = { ...ground, ...figuresKept, membership, access, audit, editing, events, jobs, listeners, observed }
  const engine: ApplyEngine = createEngine(beneath, (changes) => made.automatic.beforeApply(changes))
  hasBegun = true
  const node: Node = { ...beneath, engine, snmp: createAgent(ground, layer7, figures.names) }
  const made = createCapabilities(node)
  const pipeline = createPipeline(node, made, nodes ?? membership)
  return new RunningAppliance(node, made, pipeline, handle)
}

async function prepareGround(
  settings: Settings,
  machine: Machine,
  log: Log,
  clock: MachineClock,
  nodeIds: Ground['nodeIds'],
): Promise<Ground> {
  const { state: stateFolder } = settings
  const store = await openStore(stateFolder, log)
  const running = configView(store.running)
  const born = await ensureNodeId(store, new ClusterFiles(stateFolder).read()?.nodeId)
  const identity = () => nodeIn(running, born)
  const { facts, compute } = machine
  const sharing: SharingHere = { current: undefined }
  const nameServers: NameServersHere = { current: await machine.nameServers() }
  return {
    settings,
    stateFolder,
    machine,
    facts,
    compute,
    store,
    running,
    candidate: configView(store.candidate),
    drivers: machine.drivers(born, nodeIds, () => ({ sharing: sharing.current, nameServers: nameServers.current })),
    identity,
    nodeId: identity(),
    born,
    nodeIds,
    sharing,
    nameServers,
    clock,
    log,
  }
}

/** Creates the membership. Login tokens of every node are valid on each. */
async function createMembership(
  ground: Ground,
  { sessions, tokens }: AccessControl,
  told: Pick<MembershipParts, 'handle' | 'onFolded'>,
): Promise<Membership> {
  const { machine, settings, running } = ground
  const { executor, facts } = machine
  const etcdSays = () => facts.etcd()
  const made = {
    tokenKey: tokens.publicKey,
    executor,
    etcdSays,
    listen: settings.peer,
    ...told,
    keepSessions: () => sessions.keepAll(),
    cutOff: (host: string) => cutOff({ facts, running }, host),
    // A node without a record listens on the common port.
    apiPortOf: (id: string) => running.get('userInterfaces', id)?.apiPort ?? settings.listen.port,
  }
  const parts = {
    ...ground,
    ...made,
    get nodeId() {
      return ground.identity()
    },
  }
  const membership = await Membership.open(parts)
  const { members } = membership
  const trust = () => {
    tokens.trust(members.all().map(({ tokenKey }) => tokenKey))
    sessions.verifyAnew()
  }
  members.follow(trust)
  trust()
  return membership
}

function createDirector({ settings }: Ground, events: Events): Director {
  const tell = (up: boolean) => events.publish('node', { state: up ? 'keepalived up' : 'keepalived down' })
  // In trial keepalived is never started.
  return new Director(settings.profile === 'trial' ? () => true : keepalivedRuns, tell)
}

function createLayer4(
  { settings, store, running, stateFolder }: Ground,
  parts: Omit<Layer4StatsOptions, 'archive' | 'revision' | 'running'>,
): Layer4Stats {
  const revision = () => store.runningVersion
  const source = { kind: 'ipvs', fd: settings.genetlink } as const
  const archive = { directory: join(stateFolder, LAYER4_ARCHIVE), source }
  return new Layer4Stats({ ...parts, running, archive, revision })
}

function createAccessLogs({ machine, settings, store, ...ground }: Ground, events: Events): AccessLogs {
  const { masterSocket, statsSocket } = machine
  const sockets = masterSocket === undefined || statsSocket === undefined ? undefined : { masterSocket, statsSocket }
  const source = sockets && { ...sockets, ring: LOG_RING }
  const limits = { bytes_max: settings.logMegabytes * 1024 * 1024, age_ms: settings.logDays * 86_400_000 }
  const onServer = ({ isReached, ...more }: ServerState) =>
    events.publish('syslog', { state: isReached ? 'reached' : 'unreachable', ...more })
  return new AccessLogs({ ...ground, limits, source, onServer, runningVersion: () => store.runningVersion })
}

function createAgent({ running, nodeId, log }: Ground, layer7: Layer7Stats, names: ObjectNames): FulcrumAgent {
  const figures = { names, live: layer7.live, answers: () => layer7.state().up, nodeId, version: VERSION }
  return new FulcrumAgent({ running, figures, path: AGENTX_SOCKET, log })
}

function createListeners(
  { settings, born, identity, running, stateFolder, log, membership }: Ground & Pick<Node, 'membership'>,
  handle: Handler,
  metrics: Handler,
): ApiListeners {
  const nextId = requestIds(newId().slice(0, 13))
  const folder = join(stateFolder, 'tls')
  const tls = () => ensureCertificate(folder, [...new Set(['127.0.0.1', '::1', ...reachedAt(settings.listen.host)])])
  const ofCluster = () => clusterPorts(membership.members.get(identity()), settings.peer)
  return new ApiListeners({ settings, nodeId: born, running, handle, metrics, nextId, ofCluster, tls, folder, log })
}

/** A wildcard address is none at which the API is reached. */
const reachedAt = (host: string) => (host === '0.0.0.0' || host === '::' ? [] : [host])

function createPipeline(node: Node, { capabilities, transactions }: Made, nodes: OtherNodes | undefined): Pipeline {
  const { access, audit, compute, log, nodeId, observed, running } = node
  return new Pipeline({
    endpoints,
    nodeId,
    log,
    audit,
    parseLarge: (raw) => compute.run('parseJson', raw),
    authenticate: (proof) => access.authenticate(proof),
    expiryOf: (proof) => access.expiryOf(proof),
    isIssued: (proof) => access.isIssued(proof),
    createContext: contexts({ ...capabilities, nodeId, version: VERSION, running }, { ...node, transactions }),
    observed,
    nodes,
    transactions,
    sharedLog: node.membership.sharedLog,
  })
}
