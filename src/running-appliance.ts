import { join } from 'node:path'
import type { ConfigStore } from '../storage/config/config-store.ts'
import { chosenCertificate } from './api-certificate.ts'
import type { ApiListeners } from './api-listeners.ts'
import type { AccessControl } from './auth/access.ts'
import { type FirstAdministrator, passwordWasShown } from './auth/first-start.ts'
import { CertificateWatch, certificatesIn } from './certificate-watch.ts'
import { apiCertificate } from './certificate.ts'
import type { MachineClock } from './clock.ts'
import type { ApplyEngine } from './config/apply.ts'
import { Confirmation } from './config/confirmation.ts'
import { deferred } from './deferred.ts'
import type { Demo } from './demo.ts'
import { type Answer, collected } from './http/envelope.ts'
import type { Incoming } from './http/incoming.ts'
import type { Pipeline } from './http/pipeline.ts'
import { type Listener, requestIds } from './http/server.ts'
import { newId } from './ids.ts'
import type { RunningLifecycle } from './lifecycle.ts'
import type { Log } from './log.ts'
import type { Machine } from './machine.ts'
import type { ConfigView } from './model/sections.ts'
import { NetworkUpkeep } from './network-upkeep.ts'
import { SandboxWatch } from './sandbox-watch.ts'
import type { Settings } from './settings.ts'
import type { FulcrumAgent } from './snmp/fulcrum-agent.ts'
import type { Stats } from './stats/stats.ts'
import { Supervision } from './supervision.ts'
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
  /** Resolves when the node has assumed another identity: what was put together for the old one has to end. */
  readonly reborn: Promise<void>
  close(options?: { readonly keepsPrograms?: boolean }): Promise<void>
}

export interface ApplianceParts {
  readonly settings: Settings
  readonly machine: Machine
  readonly store: ConfigStore
  readonly running: ConfigView
  readonly access: AccessControl
  readonly stats: Stats
  readonly engine: ApplyEngine
  readonly demo: Demo
  readonly lifecycle: RunningLifecycle
  readonly pipeline: Pipeline
  readonly listeners: ApiListeners
  readonly nodeId: string
  /** Of the configuration that runs now. */
  readonly identity: () => string
  readonly snmp: FulcrumAgent
  readonly clock: MachineClock
  readonly log: Log
}

const LOOK_WHO_EVERY_MS = 500

/** What was put together, as a thing that starts, answers and stops. */
export class RunningAppliance implements Appliance {
  readonly #parts: ApplianceParts
  readonly #supervision: Supervision
  readonly #confirmation: Confirmation
  readonly #upkeep: NetworkUpkeep
  readonly #certificates: CertificateWatch
  readonly #sandbox: SandboxWatch
  readonly #reborn = deferred()
  #identityTimer: NodeJS.Timeout | undefined
  readonly #nextId = requestIds(newId().slice(0, 13))

  constructor(parts: ApplianceParts) {
    this.#parts = parts
    this.#supervision = new Supervision(
      parts.engine,
      () => parts.stats.state(),
      () => this.#managesHaproxy(),
      parts.clock,
      parts.log,
      (up, reason) => parts.lifecycle.events.publish('node', { state: up ? 'haproxy up' : 'haproxy down', reason }),
    )
    this.#upkeep = new NetworkUpkeep(parts.engine, parts.running, () => parts.listeners.settle(), parts.log)
    const own = join(parts.settings.state, 'tls')
    // Its own counts while the API shows it.
    const certificates = () => [
      ...(chosenCertificate(parts.running, parts.nodeId) === undefined ? apiCertificate(own) : []),
      ...certificatesIn(parts.running),
    ]
    this.#certificates = new CertificateWatch({ ...parts, certificates, events: parts.lifecycle.events })
    this.#sandbox = new SandboxWatch({ ...parts, facts: parts.machine.facts, events: parts.lifecycle.events })
    this.#confirmation = new Confirmation(parts.engine, parts.store, parts.clock, parts.log)
  }

  /** An apply that changed who this node is was answered before anything ends. */
  get reborn(): Promise<void> {
    return this.#reborn.promise
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
    const { listeners } = this.#parts
    await listeners.open()
    return listeners.all
  }

  async run(): Promise<{ readonly demoUrl: string | undefined }> {
    const { engine, demo, settings, listeners, lifecycle, snmp, log } = this.#parts
    const isManaged = this.#managesHaproxy()
    try {
      const result = await engine.converge(({ name }) => name !== 'layer7proxy' || isManaged)
      if (!result.ok) log.warn('not everything is as running says', { why: result.why, reason: result.output })
    } catch (error) {
      // On a full disk whoever could make room must be let in; what is left to do is tried again by those who watch.
      log.warn('not everything is as running says', { reason: String(error) })
    }
    await listeners.settle()
    await this.#confirmation.start()
    this.#supervision.start()
    lifecycle.start()
    await this.#certificates.start()
    lifecycle.events.publish('node', { state: 'started', version: VERSION, nodeId: this.nodeId })
    this.#identityTimer = setInterval(() => this.#lookWho(), LOOK_WHO_EVERY_MS).unref()
    // In trial the network is only recorded, and so is the SNMP agent.
    if (settings.profile === 'appliance') {
      this.#upkeep.start()
      this.#sandbox.start()
      snmp.start()
    }
    const isFirstTrial = this.firstAdministrator !== undefined && settings.profile === 'trial'
    const wantsDemo = settings.demo ?? (isFirstTrial || demo.exists)
    return { demoUrl: wantsDemo ? await demo.start() : undefined }
  }

  /** The apply that made it another node is answered first. */
  #lookWho(): void {
    const { engine, identity, nodeId, pipeline } = this.#parts
    if (!engine.busy && pipeline.isQuiet && identity() !== nodeId) this.#reborn.resolve()
  }

  /** An appliance's HAProxy is left as it was found until something of Layer 7 was applied. */
  #managesHaproxy(): boolean {
    const { settings, running } = this.#parts
    if (settings.observe !== undefined) return false
    if (settings.profile === 'trial') return true
    return [...running.list('l7Frontends'), ...running.list('l7Backends')].length > 0
  }

  /** What is under way ends first: an apply that was answered for is never cut off by a stop. */
  async close({ keepsPrograms = false }: { readonly keepsPrograms?: boolean } = {}): Promise<void> {
    const { demo, stats, engine, machine, store, listeners, lifecycle } = this.#parts
    lifecycle.events.publish('node', { state: 'stopping', nodeId: this.nodeId })
    this.#supervision.stop()
    this.#confirmation.stop()
    this.#upkeep.stop()
    this.#certificates.stop()
    this.#sandbox.stop()
    this.#parts.snmp.stop()
    clearInterval(this.#identityTimer)
    demo.stop()
    listeners.close()
    await engine.idle()
    await lifecycle.close()
    await stats.close()
    if (!keepsPrograms) await machine.stopSupervised()
    await machine.close()
    await store.close()
  }
}
