import { join } from 'node:path'
import type { LmdbConfigStore } from '../storage/config/lmdb-config-store.ts'
import { catalogOf } from './api/access.ts'
import type { PendingReader } from './api/context.ts'
import { assertTable } from './api/integrity.ts'
import { AccessControl } from './auth/access.ts'
import type { Amend } from './auth/login.ts'
import { ensureCertificate } from './certificate.ts'
import { ApiListeners } from './api-listeners.ts'
import { type MachineClock, systemClock } from './clock.ts'
import { amendBetween } from './config/amend-record.ts'
import type { ApplyEngine } from './config/apply.ts'
import { createEngine, type Node } from './create-engine.ts'
import { Transactions } from './config/transactions.ts'
import { Editing } from './config/editing.ts'
import { PendingChanges } from './config/pending.ts'
import { configView } from './config/views.ts'
import { consoleAccess } from './console-access.ts'
import { Demo } from './demo.ts'
import { AGENTX_SOCKET } from './drivers/snmpd/render.ts'
import { nodeIn } from './drivers/this-node.ts'
import { Documents } from './documents.ts'
import type { AuditTrail } from './http/audited.ts'
import { Pipeline } from './http/pipeline.ts'
import { type Handler, requestIds } from './http/server.ts'
import { newId } from './ids.ts'
import { RunningLifecycle } from './lifecycle.ts'
import type { Log } from './log.ts'
import type { Machine } from './machine.ts'
import { ensureNodeId } from './node-identity.ts'
import { openStore } from './opened-store.ts'
import { healthEvents } from './health-events.ts'
import { figuresOf } from './observe/figures.ts'
import { observedHaproxy } from './observe/observed-haproxy.ts'
import { radiusProbe } from './radius/config-test.ts'
import { radiusLogin } from './radius/login.ts'
import { RequestContext } from './request-context.ts'
import { endpoints } from './resources/index.ts'
import { type Appliance, type ApplianceParts, RunningAppliance } from './running-appliance.ts'
import { RunningNames } from './running-names.ts'
import { clockSetter } from './set-clock.ts'
import { SamlLogins } from './saml/logins.ts'
import type { Services } from './services.ts'
import type { Settings } from './settings.ts'
import { FulcrumAgent } from './snmp/fulcrum-agent.ts'
import { stickTables } from './stick-tables.ts'
import { withHealthOf } from './stats/health.ts'
import { Director, keepalivedRuns } from './ipvs/director.ts'
import { LAYER4_ARCHIVE, Layer4Stats, type Layer4StatsOptions } from './stats/layer4-stats.ts'
import type { ObjectNames } from './stats/names.ts'
import { createStats, type Stats } from './stats/stats.ts'
import { Units } from './units.ts'
import { VERSION } from './version.ts'

/** The composition root: everything is made and connected here, and nowhere else. */
export async function createAppliance(
  settings: Settings,
  machine: Machine,
  log: Log,
  clock: MachineClock = systemClock,
): Promise<Appliance> {
  assertTable(endpoints)
  const store = await openStore(settings.state, log)
  const running = configView(store.running)
  const born = await ensureNodeId(store)
  const identity = () => nodeIn(running, born)
  const nodeId = identity()
  const { administrator, state: stateFolder } = settings
  const amend: Amend = (section, id, change) =>
    amendBetween(engine, editing, (writer) => engine.amend(section, id, change, writer))
  const external = radiusLogin({ running, clock, log })
  const access = await AccessControl.open({
    store,
    running,
    endpoints,
    stateFolder,
    clock,
    log,
    administrator,
    external,
    amend,
  })
  const editing = new Editing(store)
  const lifecycle: RunningLifecycle = new RunningLifecycle({
    store,
    clock,
    log,
    stateFolder,
    auditDays: settings.auditDays,
    assertStill: (author, wanted) => access.assertStill(author, wanted),
    nodeId,
    editing,
    compute: machine.compute,
    facts: machine.facts,
    connections: (ripId) => openConnections(ripId, stats, settings.profile === 'trial' ? undefined : layer4),
    engine: () => engine,
    machine,
    refuseObserver: () => observedHaproxy(settings, store)?.refuse(),
  })
  const figures = figuresOf(settings.observe, machine, new RunningNames(running, () => store.revision))
  const onHealth = healthEvents(lifecycle.events, running)
  const told = { onHealth, applianceId: nodeId, log, clock }
  const keepalived = (up: boolean) =>
    lifecycle.events.publish('node', { state: up ? 'keepalived up' : 'keepalived down' })
  // In trial nobody starts it.
  const director = new Director(settings.profile === 'trial' ? () => true : keepalivedRuns, keepalived)
  const layer4 = layer4Of(settings, { store, running, isChanging: () => engine.busy, director, ...told })
  const stats = await createStats({ directory: join(settings.state, 'archive'), ...figures, layer4, ...told })
  const node = { store, running, drivers: machine.drivers(born), nodeId, born, clock, log }
  const listeners = createListeners(settings, node, (incoming, requestId) => pipeline.handle(incoming, requestId))
  const tell = (outcome: object) => lifecycle.events.publish('apply', outcome)
  const beforeApply = lifecycle.automatic.beforeApply.bind(lifecycle.automatic)
  const engine: ApplyEngine = createEngine({ node, machine, listeners, stats, access, tell, beforeApply })
  const demo = new Demo({ store, editing, engine, clock, log })
  const snmp = snmpFigures(node, stats, figures.names)
  const parts = { ...node, settings, machine, access, stats, engine, demo, lifecycle, listeners, identity, snmp }
  const services = servicesOf(parts, editing, layer4)
  const pipeline: Pipeline = createPipeline(services, access, lifecycle.audit, machine, log)
  return new RunningAppliance({ ...parts, pipeline })
}

/** Who only watches a HAProxy keeps nothing of the kernel's. */
function layer4Of(
  { state, observe, genetlink: fd }: Settings,
  parts: Omit<Layer4StatsOptions, 'archive' | 'names' | 'revision'> & { readonly store: LmdbConfigStore },
): Layer4Stats {
  const revision = () => parts.store.revision
  const names = new RunningNames(parts.running, revision, 4)
  const source = { kind: 'ipvs', fd } as const
  const archive = observe === undefined ? { directory: join(state, LAYER4_ARCHIVE), source } : undefined
  return new Layer4Stats({ ...parts, archive, names, revision })
}

function snmpFigures({ running, nodeId, log }: Node, stats: Stats, names: ObjectNames): FulcrumAgent {
  const figures = { names, live: stats.live, answers: () => stats.state().up, nodeId, version: VERSION }
  return new FulcrumAgent({ running, figures, path: AGENTX_SOCKET, log })
}

type Parts = Omit<ApplianceParts, 'pipeline'> & Node

/** What handlers see parts of through their context. */
function servicesOf(parts: Parts, editing: Editing, layer4: Layer4Stats): Services {
  const { settings, store, running, drivers, nodeId, clock, log } = parts
  const { machine, access, stats, engine, demo, lifecycle, listeners } = parts
  const observed = observedHaproxy(settings, store)
  return {
    nodeId,
    version: VERSION,
    clock,
    store,
    running,
    editing,
    demo,
    radius: radiusProbe({ running, clock, log }),
    stickTables: stickTables({
      running,
      persistence: (marks) => machine.facts.persistence(marks),
      run: (steps) => engine.run(steps),
    }),
    catalog: catalogOf(endpoints),
    documents: new Documents(endpoints, VERSION),
    pending: pendingReader(new PendingChanges(store, drivers), engine),
    units: observed?.units ?? unitsOf(engine, lifecycle, listeners),
    observed,
    live: withHealthOf(stats.live, layer4.live),
    history: stats.history,
    layer4,
    passwords: access.hashing,
    sessions: access.sessions,
    login: access.login,
    machine: machine.facts,
    lifecycle,
    account: access.account,
    sso: new SamlLogins({ ...parts, compute: machine.compute, admitted: (...who) => access.login.admitted(...who) }),
    readCertificate: (upload) => machine.compute.run('readCertificate', upload),
    may: (actor, endpoint) => access.may(actor, endpoint),
    setClock: clockSetter(engine, () => stats.clockStepped()),
    api: listeners,
    transactions: new Transactions(store, clock, log),
    setConsole: consoleAccess(engine),
    apply: (options, caller) => engine.apply(options, caller),
    confirm: (caller) => engine.confirm(caller),
  }
}

/** Of both layers; undefined while one of those that hold it does not tell. In trial the kernel balances nothing. */
function openConnections(ripId: string, stats: Stats, layer4: Layer4Stats | undefined): number | undefined {
  let sum = 0
  for (const count of [...stats.live.sessions(ripId), ...(layer4?.live.connections(ripId) ?? [])]) {
    if (count === undefined) return undefined
    sum += count
  }
  return sum
}

function createListeners(settings: Settings, { born, running, log }: Node, handle: Handler): ApiListeners {
  const nextId = requestIds(newId().slice(0, 13))
  const folder = join(settings.state, 'tls')
  const tls = () => ensureCertificate(folder, ['127.0.0.1', '::1'])
  return new ApiListeners({ settings, nodeId: born, running, handle, nextId, tls, folder, log })
}

function unitsOf(engine: ApplyEngine, { updates }: RunningLifecycle, listeners: ApiListeners): Units {
  return new Units(
    engine,
    (name, by) => updates.updatePackage(name, by),
    () => listeners.settle(),
  )
}

function pendingReader(pending: PendingChanges, engine: ApplyEngine): PendingReader {
  return {
    list: () => pending.list(),
    changedIds: (section) => pending.changedIds(section),
    preview: () => pending.preview(),
    async validate() {
      await engine.validate()
      return pending.list()
    },
  }
}

function createPipeline(
  services: Services,
  access: AccessControl,
  audit: AuditTrail,
  { compute }: Machine,
  log: Log,
): Pipeline {
  return new Pipeline({
    endpoints,
    nodeId: services.nodeId,
    log,
    audit,
    parseLarge: (raw) => compute.run('parseJson', raw),
    authenticate: (token) => access.authenticate(token),
    createContext: (endpoint, actor, facts) => new RequestContext(services, endpoint, actor, facts),
  })
}
