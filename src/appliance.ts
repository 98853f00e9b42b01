import { join } from 'node:path'
import type { ConfigStore } from '../storage/config/config-store.ts'
import { LmdbConfigStore } from '../storage/config/lmdb-config-store.ts'
import { ADMINISTRATOR, catalogOf } from './api/access.ts'
import type { PendingReader } from './api/context.ts'
import { assertTable } from './api/integrity.ts'
import { AccessControl } from './auth/access.ts'
import { type FirstAdministrator, passwordWasShown } from './auth/first-start.ts'
import { ensureCertificate } from './certificate.ts'
import { type Clock, systemClock } from './clock.ts'
import { verifyAdministrators } from './config/access-rules.ts'
import { ApplyEngine, type PlanExecutor } from './config/apply.ts'
import { Editing } from './config/editing.ts'
import { PendingChanges } from './config/pending.ts'
import { verifyReferences } from './config/reference-rules.ts'
import { configView } from './config/views.ts'
import { Demo } from './demo.ts'
import { Documents } from './documents.ts'
import { type Answer, collected } from './http/envelope.ts'
import { type Incoming, Pipeline } from './http/pipeline.ts'
import { listen, type Listener, requestIds } from './http/server.ts'
import { newId } from './ids.ts'
import type { Log } from './log.ts'
import type { Machine } from './machine.ts'
import type { ConfigView } from './model/sections.ts'
import { ensureNodeId, refuseLostStore } from './node-identity.ts'
import { figuresOf } from './observe/figures.ts'
import { observedHaproxy } from './observe/observed-haproxy.ts'
import { RequestContext, type Services } from './request-context.ts'
import { endpoints } from './resources/index.ts'
import { RunningNames } from './running-names.ts'
import type { Settings } from './settings.ts'
import { createStats, type Stats } from './stats/stats.ts'
import { Supervision } from './supervision.ts'
import { Units } from './units.ts'
import { VERSION } from './version.ts'

export interface Appliance {
  readonly nodeId: string
  readonly firstAdministrator: FirstAdministrator | undefined
  passwordWasShown(): Promise<void>
  /** Enters behind the socket: routing, access and validation as for everybody. */
  inject(incoming: Incoming): Promise<Answer>
  listen(): Promise<readonly Listener[]>
  /** Makes the machine what running says and starts to watch it. Answers the URL of the demonstration, if there is one. */
  run(): Promise<{ readonly demoUrl: string | undefined }>
  close(): Promise<void>
}

/** The composition root: everything is made and connected here, and nowhere else. */
export async function createAppliance(
  settings: Settings,
  machine: Machine,
  log: Log,
  clock: Clock = systemClock,
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
  const engine = new ApplyEngine({
    store,
    drivers,
    executor: keepingFigures(machine.executor, stats),
    rules: [verifyReferences, (desired) => verifyAdministrators(desired, ADMINISTRATOR.id)],
    nodeId,
    clock,
    log,
    onPromoted: (changes) => access.onPromoted(changes),
  })
  const editing = new Editing(store)
  const demo = new Demo({ store, editing, engine, clock, log })
  const services: Services = {
    ...identity(nodeId),
    clock,
    store,
    running,
    editing,
    demo,
    catalog: catalogOf(endpoints),
    pending: pendingReader(new PendingChanges(store, drivers), engine),
    units: observed?.units ?? new Units(engine, machine.touchesPackages),
    observed,
    live: stats.live,
    history: stats.history,
    documents: new Documents(endpoints, VERSION),
    passwords: access.hashing,
    sessions: access.sessions,
    login: access.login,
    machine: machine.facts,
    may: (userId, endpoint) => access.may(userId, endpoint),
    apply: (options, by) => engine.apply(options, by),
  }
  const pipeline = createPipeline(services, access, log)
  return new RunningAppliance({
    settings,
    machine,
    store,
    running,
    access,
    stats,
    engine,
    demo,
    pipeline,
    nodeId,
    clock,
    log,
  })
}

interface Parts {
  readonly settings: Settings
  readonly machine: Machine
  readonly store: ConfigStore
  readonly running: ConfigView
  readonly access: AccessControl
  readonly stats: Stats
  readonly engine: ApplyEngine
  readonly demo: Demo
  readonly pipeline: Pipeline
  readonly nodeId: string
  readonly clock: Clock
  readonly log: Log
}

/** What was put together, as a thing that starts, answers and stops. */
class RunningAppliance implements Appliance {
  readonly #parts: Parts
  readonly #supervision: Supervision
  readonly #nextId = requestIds(newId().slice(0, 13))
  readonly #listeners: Listener[] = []

  constructor(parts: Parts) {
    this.#parts = parts
    this.#supervision = new Supervision(
      parts.engine,
      () => parts.stats.state(),
      () => this.#managesHaproxy(),
      parts.clock,
      parts.log,
    )
  }

  get nodeId(): string {
    return this.#parts.nodeId
  }
  get firstAdministrator(): FirstAdministrator | undefined {
    return this.#parts.access.firstAdministrator
  }

  /** The start got far enough to tell it: the next one makes no new password. */
  passwordWasShown(): Promise<void> {
    return passwordWasShown(this.#parts.store)
  }

  async inject(incoming: Incoming): Promise<Answer> {
    return collected(this.#parts.pipeline.handle(incoming, this.#nextId()))
  }

  async listen(): Promise<readonly Listener[]> {
    const { settings, pipeline } = this.#parts
    this.#listeners.push(...(await openListeners(settings, pipeline, this.#nextId)))
    return this.#listeners
  }

  async run(): Promise<{ readonly demoUrl: string | undefined }> {
    const { engine, demo, settings, log } = this.#parts
    if (this.#managesHaproxy()) {
      const result = await engine.converge()
      if (!result.ok) log.warn('HAProxy is not running', { reason: result.output })
    }
    this.#supervision.start()
    const isFirstTrial = this.firstAdministrator !== undefined && settings.profile === 'trial'
    const wantsDemo = settings.demo ?? (isFirstTrial || demo.exists)
    return { demoUrl: wantsDemo ? await demo.start() : undefined }
  }

  /** An appliance's HAProxy is left as it was found until something of Layer 7 was applied. */
  #managesHaproxy(): boolean {
    const { settings, store, running } = this.#parts
    if (settings.observe !== undefined) return false
    if (settings.profile === 'trial' || store.journal() !== undefined) return true
    return [...running.list('l7Frontends'), ...running.list('l7Backends')].length > 0
  }

  /** What is under way ends first: an apply that was answered for is never cut off by a stop. */
  async close(): Promise<void> {
    const { demo, stats, engine, machine, store } = this.#parts
    this.#supervision.stop()
    demo.stop()
    for (const listener of this.#listeners) listener.close()
    await engine.idle()
    await stats.close()
    await machine.stopSupervised()
    await machine.close()
    await store.close()
  }
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

function createPipeline(services: Services, access: AccessControl, log: Log): Pipeline {
  return new Pipeline({
    endpoints,
    nodeId: services.nodeId,
    log,
    authenticate: (token) => access.authenticate(token),
    createContext: (endpoint, actor, facts) => new RequestContext(services, endpoint, actor, facts),
  })
}

async function openListeners(settings: Settings, pipeline: Pipeline, nextId: () => string): Promise<Listener[]> {
  const handle = pipeline.handle.bind(pipeline)
  const tls = await ensureCertificate(join(settings.state, 'tls'), ['127.0.0.1', '::1'])
  const api = await listen(settings.listen, tls, handle, nextId)
  if (settings.http === undefined) return [api]
  return [api, await listen(settings.http, undefined, handle, nextId)]
}

/** What an ending worker counted since the last poll is read before a reload takes it away. */
function keepingFigures(executor: PlanExecutor, stats: Stats): PlanExecutor {
  return {
    check: (steps) => executor.check(steps),
    async execute(steps) {
      if (steps.some((step) => step.kind === 'unit')) await stats.capture()
      return executor.execute(steps)
    },
  }
}
