import { join } from 'node:path'
import type { ConfigStore } from '../storage/config/config-store.ts'
import { LmdbConfigStore } from '../storage/config/lmdb-config-store.ts'
import { ADMINISTRATOR, catalogOf } from './api/access.ts'
import type { PendingReader } from './api/context.ts'
import { assertTable } from './api/integrity.ts'
import { AccessControl } from './auth/access.ts'
import { ensureCertificate } from './certificate.ts'
import { ApiListeners } from './api-listeners.ts'
import { type MachineClock, systemClock } from './clock.ts'
import { verifyAdministrators } from './config/access-rules.ts'
import { ApplyEngine, type ApplyParts } from './config/apply.ts'
import type { PlanExecutor } from './config/enactor.ts'
import { Transactions } from './config/transactions.ts'
import { Editing } from './config/editing.ts'
import { PendingChanges } from './config/pending.ts'
import { cutOffGuard } from './cut-off.ts'
import { verifyAddresses } from './config/address-rules.ts'
import { verifyNames } from './config/name-rules.ts'
import { verifyReferences } from './config/reference-rules.ts'
import { configView } from './config/views.ts'
import { consoleAccess } from './console-access.ts'
import type { Driver } from './drivers/driver.ts'
import { Demo } from './demo.ts'
import { Documents } from './documents.ts'
import { egressProxyPaths } from './drivers/egress-proxy/driver.ts'
import type { AuditTrail } from './http/audited.ts'
import { Pipeline } from './http/pipeline.ts'
import { type Handler, requestIds } from './http/server.ts'
import { newId } from './ids.ts'
import { leftBehindGuard } from './left-behind.ts'
import { RunningLifecycle } from './lifecycle.ts'
import type { Log } from './log.ts'
import type { Machine } from './machine.ts'
import type { ConfigView } from './model/sections.ts'
import { ensureNodeId, refuseLostStore } from './node-identity.ts'
import { figuresOf } from './observe/figures.ts'
import { observedHaproxy } from './observe/observed-haproxy.ts'
import { RequestContext, type Services } from './request-context.ts'
import { endpoints } from './resources/index.ts'
import { type Appliance, RunningAppliance } from './running-appliance.ts'
import { RunningNames } from './running-names.ts'
import { clockSetter } from './set-clock.ts'
import type { Settings } from './settings.ts'
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
  const store = new LmdbConfigStore(join(settings.state, 'config'), newId)
  const running = configView(store.running)
  refuseLostStore(store, settings.state)
  const nodeId = await ensureNodeId(store)
  const { administrator, state: stateFolder } = settings
  const observed = observedHaproxy(settings, store)
  const access = await AccessControl.open({ store, running, endpoints, stateFolder, clock, log, administrator })
  const stats = await createStats({
    directory: join(settings.state, 'archive'),
    ...figuresOf(settings.observe, machine, new RunningNames(running, () => store.revision)),
    applianceId: nodeId,
    log,
    clock,
  })
  const drivers = machine.drivers(nodeId)
  const node = { store, running, drivers, nodeId, clock, log }
  const listeners = createListeners(settings, node, (incoming, requestId) => pipeline.handle(incoming, requestId))
  const engine = createEngine(node, machine, listeners, stats, access)
  const editing = new Editing(store)
  const transactions = new Transactions(store, clock, log)
  const demo = new Demo({ store, editing, engine, clock, log })
  const lifecycle = new RunningLifecycle({ ...node, stateFolder, compute: machine.compute })
  const services: Services = {
    ...identity(nodeId),
    clock,
    store,
    running,
    editing,
    demo,
    ...aboutTheTable(),
    pending: pendingReader(new PendingChanges(store, drivers), engine),
    units: observed?.units ?? unitsOf(engine, machine, listeners, stateFolder),
    observed,
    live: stats.live,
    history: stats.history,
    passwords: access.hashing,
    sessions: access.sessions,
    login: access.login,
    machine: machine.facts,
    lifecycle,
    may: (userId, endpoint) => access.may(userId, endpoint),
    setClock: clockSetter(engine, () => stats.clockStepped()),
    api: listeners,
    transactions,
    setConsole: consoleAccess(engine),
    apply: (options, caller) => engine.apply(options, caller),
    confirm: () => engine.confirm(),
  }
  const pipeline: Pipeline = createPipeline(services, access, lifecycle.audit, machine, log)
  return new RunningAppliance({
    settings,
    machine,
    store,
    running,
    access,
    stats,
    engine,
    demo,
    lifecycle,
    pipeline,
    listeners,
    nodeId,
    clock,
    log,
  })
}

interface Node {
  readonly store: ConfigStore
  readonly running: ConfigView
  readonly drivers: readonly Driver[]
  readonly nodeId: string
  readonly clock: MachineClock
  readonly log: Log
}

function createListeners(settings: Settings, { nodeId, running, log }: Node, handle: Handler): ApiListeners {
  const nextId = requestIds(newId().slice(0, 13))
  const tls = () => ensureCertificate(join(settings.state, 'tls'), ['127.0.0.1', '::1'])
  return new ApiListeners({ settings, nodeId, running, handle, nextId, tls, log })
}

function createEngine(
  node: Node,
  machine: Machine,
  listeners: ApiListeners,
  stats: Stats,
  access: AccessControl,
): ApplyEngine {
  return new ApplyEngine({
    ...node,
    executor: keepingFigures(machine.executor, stats),
    own: [listeners],
    rules: [
      verifyReferences,
      verifyNames,
      verifyAddresses,
      (desired) => verifyAdministrators(desired, ADMINISTRATOR.id),
    ],
    // In trial nothing of the network is touched.
    wouldCut: machine.touchesPackages ? cutGuard(node, machine, listeners) : async () => undefined,
    onPromoted: (changes) => access.onPromoted(changes),
  })
}

function cutGuard({ nodeId }: Node, { facts }: Machine, api: ApiListeners): ApplyParts['wouldCut'] {
  const guards = [cutOffGuard({ nodeId, facts, api }), leftBehindGuard(api, facts)]
  return async (running, desired, address) => {
    for (const guard of guards) {
      const reason = await guard(running, desired, address)
      if (reason !== undefined) return reason
    }
    return undefined
  }
}

const aboutTheTable = () => ({ catalog: catalogOf(endpoints), documents: new Documents(endpoints, VERSION) })

function unitsOf(engine: ApplyEngine, machine: Machine, listeners: ApiListeners, stateFolder: string): Units {
  const { environment } = egressProxyPaths(stateFolder)
  return new Units(engine, machine.touchesPackages, () => listeners.settle(), environment)
}

const identity = (nodeId: string) => ({ nodeId, version: VERSION })

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

/** What an ending worker counted since the last poll is read before a reload takes it away. */
function keepingFigures(executor: PlanExecutor, stats: Stats): PlanExecutor {
  return {
    check: (steps) => executor.check(steps),
    async execute(steps) {
      if (steps.some((step) => step.kind === 'unit' && step.unit === 'layer7proxy')) await stats.capture()
      return executor.execute(steps)
    },
  }
}
