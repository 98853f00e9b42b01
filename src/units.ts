import type { UnitEntry } from './api/context.ts'
import type { ApplyEngine } from './config/apply.ts'
import type { UnitName } from './drivers/host.ts'
import { ApiError } from './errors.ts'

interface ManagedUnit extends UnitEntry {
  /** `webui` is this daemon's own front. */
  readonly name: UnitName | 'webui'
  /** Debian package; undefined for what is updated in another way. */
  readonly package: string | undefined
}

const BOTH = { canReload: true, canUpdate: true } as const

/** The managed daemons of this version; later versions add theirs here. */
const UNITS: readonly ManagedUnit[] = [
  { name: 'layer7proxy', fullName: 'Layer 7 load balancer (HAProxy)', ...BOTH, package: 'haproxy' },
  { name: 'ipvsDirector', fullName: 'Layer 4 load balancer (keepalived, IPVS)', ...BOTH, package: 'keepalived' },
  { name: 'ntp', fullName: 'Clock synchronisation (chrony)', ...BOTH, package: 'chrony' },
  { name: 'ssh', fullName: 'Remote shell (OpenSSH)', ...BOTH, package: 'openssh-server' },
  { name: 'snmp', fullName: 'SNMP agent (snmpd)', ...BOTH, package: 'snmpd' },
  { name: 'webui', fullName: 'User interface and API', canReload: true, canUpdate: false, package: undefined },
]

/** Resolves when the package was updated. */
type UpdatePackage = (name: string, by: string) => Promise<{ readonly isDryRun: boolean }>

type Verb = 'reload' | 'restart' | 'update'
const UNIT_TIMEOUT_MS = 60_000

/** Reload, restart and update of managed daemons. In the trial profile the machine's own stay as they are. */
export class Units {
  readonly #engine: ApplyEngine
  readonly #updatePackage: UpdatePackage
  readonly #settleApi: () => Promise<void>

  /** `settleApi` makes the API listen where running says. */
  constructor(engine: ApplyEngine, updatePackage: UpdatePackage, settleApi: () => Promise<void>) {
    this.#engine = engine
    this.#updatePackage = updatePackage
    this.#settleApi = settleApi
  }

  list(): readonly UnitEntry[] {
    return UNITS.map(({ name, fullName, canReload, canUpdate }) => ({ name, fullName, canReload, canUpdate }))
  }

  async operate(service: string, verb: Verb, by: string): Promise<{ readonly isDryRun: boolean }> {
    const unit = UNITS.find((candidate) => candidate.name === service)
    if (unit === undefined) {
      throw new ApiError('NOT_FOUND', `There is no service ${service}; GET /services lists them`)
    }
    const { name } = unit
    if (verb === 'update') return this.#update(unit, by)
    if (name === 'webui') await this.#settleApi()
    else if (name === 'layer7proxy') await this.#engine.enforce(name, verb)
    else {
      const common = { undo: 'none', whenUnchanged: 'act', timeout_ms: UNIT_TIMEOUT_MS } as const
      return this.#engine.run([{ kind: 'unit', unit: name, verb, why: `${verb} ${unit.fullName}`, ...common }])
    }
    return { isDryRun: false }
  }

  #update({ name, package: updated }: ManagedUnit, by: string): Promise<{ readonly isDryRun: boolean }> {
    if (updated === undefined) throw new ApiError('NOT_SUPPORTED', `${name} is not updated from here`)
    return this.#updatePackage(updated, by)
  }
}
