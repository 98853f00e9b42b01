import type { PackageUpdated } from '../context/machine-care.ts'
import type { UnitEntry, UnitsActor } from '../context/units.ts'
import type { ApplyEngine } from '../config/apply.ts'
import type { UnitName } from '../drivers/host.ts'
import { type Program, PROGRAMS } from '../drivers/programs.ts'
import { ApiError } from '../base/errors.ts'
import { OWN_PACKAGE, type Updates } from './updates/updates.ts'

/** `webui` is this daemon's own listener; health checks run in the programs that balance. */
type ServiceName = Exclude<UnitName, 'etcd'> | 'healthchecks' | 'webui'
/** A service without a package is updated in another way. */
type Service = Pick<Program, 'fullName' | 'canReload'> & Partial<Pick<Program, 'package'>>

const { layer7proxy, ipvsDirector, clusterha, ntp, ssh, snmp } = PROGRAMS

/** In the order of the list. */
const SERVICES: Readonly<Record<ServiceName, Service>> = {
  layer7proxy,
  ipvsDirector,
  clusterha,
  healthchecks: { fullName: 'Health checks of both layers', canReload: true },
  ntp,
  ssh,
  snmp,
  webui: { fullName: 'User interface and API', canReload: true, package: OWN_PACKAGE },
}
const NAMES = Object.keys(SERVICES) as readonly ServiceName[]

interface UnitsParts {
  readonly engine: ApplyEngine
  readonly updates: Pick<Updates, 'startPackage' | 'updatePackage'>
  /** Makes the API listen where running says. */
  readonly listeners: { settle(): Promise<void> }
  /** Undefined if the node is in no cluster. */
  readonly membership: { readonly cluster: unknown }
}

type Verb = 'reload' | 'restart'
const UNIT_TIMEOUT_MS = 60_000

/** Reloads, restarts and updates managed daemons. The trial profile does not touch those of the machine. */
export class Units implements UnitsActor {
  readonly #parts: UnitsParts

  constructor(parts: UnitsParts) {
    this.#parts = parts
  }

  list(): readonly UnitEntry[] {
    return NAMES.map((name) => {
      const { fullName, canReload, package: updated } = SERVICES[name]
      return { name, fullName, canReload: canReload && this.#isHere(name), canUpdate: updated !== undefined }
    })
  }

  /** The programs that move floating IPs between nodes run in a cluster only. */
  #isHere(name: ServiceName): boolean {
    return name !== 'clusterha' || this.#parts.membership.cluster !== undefined
  }

  async operate(service: string, verb: Verb, by: string): Promise<{ readonly isDryRun: boolean }> {
    const name = named(service)
    const { engine, listeners } = this.#parts
    if (!this.#isHere(name)) throw new ApiError('NOT_SUPPORTED', 'This node is not in a cluster')
    if (name === 'webui') await listeners.settle()
    else if (name === 'layer7proxy') await engine.enforce(name, verb)
    else if (name === 'healthchecks') return this.#beginChecks(by)
    else {
      const common = { undo: 'none', whenUnchanged: 'act', timeout_ms: UNIT_TIMEOUT_MS } as const
      return engine.run([{ kind: 'unit', unit: name, verb, why: `${verb} ${PROGRAMS[name].fullName}`, ...common }])
    }
    return { isDryRun: false }
  }

  /**
   * Restarts health checks: a program that reloads its configuration begins its checks anew, and keeps its connections.
   */
  async #beginChecks(by: string): Promise<{ readonly isDryRun: boolean }> {
    await this.operate('layer7proxy', 'reload', by)
    return this.operate('ipvsDirector', 'reload', by)
  }

  async update(service: string, isForced: boolean, by: string): Promise<PackageUpdated> {
    const { updates } = this.#parts
    const name = packageOf(service)
    return await (name === OWN_PACKAGE
      ? updates.startPackage(name, isForced, by)
      : updates.updatePackage(name, isForced, by))
  }
}

/** @throws {ApiError} NOT_FOUND, NOT_SUPPORTED. */
export function packageOf(service: string): string {
  const { package: updated } = SERVICES[named(service)]
  if (updated === undefined) throw new ApiError('NOT_SUPPORTED', `${service} cannot be updated through this API`)
  return updated
}

function named(service: string): ServiceName {
  const name = NAMES.find((candidate) => candidate === service)
  if (name === undefined) throw new ApiError('NOT_FOUND', `There is no service ${service}; GET /services lists them`)
  return name
}
