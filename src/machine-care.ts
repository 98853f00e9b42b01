import { join } from 'node:path'
import type { ConfigStore } from '../storage/config/config-store.ts'
import type { MachineClock } from './clock.ts'
import { egressProxyPaths } from './drivers/egress-proxy/driver.ts'
import { ApiError } from './errors.ts'
import type { Events } from './events.ts'
import type { JobKind, Jobs } from './jobs.ts'
import type { Log } from './log.ts'
import type { Machine } from './machine.ts'
import type { ConfigView } from './model/sections.ts'
import { Power, type PowerParts } from './power/power.ts'
import { Snapshots } from './snapshots/snapshots.ts'
import { DetachedWork } from './updates/detached-work.ts'
import { MAJOR_VERSIONS_FILE } from './updates/major-versions.ts'
import { Updates } from './updates/updates.ts'
import { VERSION } from './version.ts'

const DRAIN_S = 30

export interface MachineCareParts {
  readonly jobs: Jobs
  readonly events: Events
  readonly machine: Pick<Machine, 'executor' | 'facts' | 'keepPackage' | 'statsSocket' | 'touchesPackages'>
  readonly store: ConfigStore
  readonly running: ConfigView
  readonly engine: () => { readonly busy: boolean }
  readonly refuseObserver: () => void
  readonly assertStill: PowerParts['assertStill']
  readonly nodeId: string
  readonly stateFolder: string
  readonly clock: Pick<MachineClock, 'bootId' | 'uptime_ms'>
  readonly log: Log
}

/** Packages, snapshots and power of the machine itself. */
export class MachineCare {
  readonly updates: Updates
  readonly snapshots: Snapshots
  readonly power: Power
  readonly #work: DetachedWork
  readonly #parts: MachineCareParts

  constructor(parts: MachineCareParts) {
    const { jobs, machine, stateFolder, refuseObserver, running, clock } = parts
    const { executor, facts, touchesPackages } = machine
    this.#parts = parts
    this.#work = new DetachedWork({ executor, stateFolder, environmentFile: egressProxyPaths(stateFolder).environment })
    this.power = new Power({
      ...parts,
      executor,
      facts,
      touchesMachine: touchesPackages,
      statsSocket: machine.statsSocket,
      frontends: () => [...running.list('l7Frontends')].filter(({ enabled }) => enabled).map(({ id }) => id),
    })
    const refuseHands = () => {
      refuseObserver()
      this.power.refuseGoingDown()
    }
    this.snapshots = new Snapshots({
      ...parts,
      refuseObserver: refuseHands,
      executor,
      facts,
      touchesMachine: touchesPackages,
      bootId: clock.bootId,
      reboot: (by) => this.power.begin('reboot', { drain_s: DRAIN_S, isForced: true, by }),
    })
    this.updates = new Updates({
      jobs,
      nodeId: parts.nodeId,
      work: this.#work,
      facts,
      stateFolder,
      touchesPackages,
      refuseObserver: refuseHands,
      version: VERSION,
      keep: (text) => machine.keepPackage(text),
      majorVersionsFile: touchesPackages ? MAJOR_VERSIONS_FILE : join(stateFolder, 'major-versions.json'),
      refuseWhileApplying: () => this.#refuseWhileApplying(),
      snapshotFirst: () => this.snapshots.firstArgv(),
    })
  }

  get kinds(): readonly JobKind<never>[] {
    return [...this.updates.kinds, ...this.snapshots.kinds]
  }

  /** When the jobs of an earlier run are known. */
  start(): void {
    const { jobs, log } = this.#parts
    const ids = new Set(jobs.list().map(({ id }) => id))
    this.#work
      .tidy((id) => ids.has(id))
      .catch((error: unknown) => log.warn('folders of ended jobs stay', { reason: String(error) }))
    void this.snapshots.finishMerge()
    this.power
      .resume()
      .catch((error: unknown) => log.error('going down was not taken up again', { reason: String(error) }))
  }

  /** What goes on without this daemon is taken up by the next one. */
  close(): void {
    this.#work.close()
    this.power.close()
    this.snapshots.close()
  }

  #refuseWhileApplying(): void {
    const { engine, store } = this.#parts
    const unconfirmed = store.unconfirmed()
    if (!engine().busy && unconfirmed === undefined) return
    const message =
      unconfirmed === undefined
        ? 'The configuration is being applied; try again in a moment'
        : `Revision ${unconfirmed.revision} waits for its confirmation until ${unconfirmed.confirmBy}`
    throw new ApiError('APPLY_IN_PROGRESS', message, { headers: { 'Retry-After': '5' } })
  }
}
