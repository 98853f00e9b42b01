import type { UnitEntry } from './api/context.ts'
import type { ApplyEngine } from './config/apply.ts'
import type { UnitName } from './drivers/host.ts'
import { ApiError } from './errors.ts'

interface ManagedUnit extends UnitEntry {
  readonly name: UnitName
  /** Debian package. */
  readonly package: string
}

/** The managed daemons of this version; later versions add theirs here. */
const UNITS: readonly ManagedUnit[] = [
  {
    name: 'layer7proxy',
    fullName: 'Layer 7 load balancer (HAProxy)',
    canReload: true,
    canUpdate: true,
    package: 'haproxy',
  },
]

const UPDATE_TIMEOUT_MS = 600_000

/** Reload, restart and update of managed daemons. In the trial profile packages stay as they are. */
export class Units {
  readonly #engine: ApplyEngine
  readonly #touchesPackages: boolean

  constructor(engine: ApplyEngine, touchesPackages: boolean) {
    this.#engine = engine
    this.#touchesPackages = touchesPackages
  }

  list(): readonly UnitEntry[] {
    return UNITS.map(({ name, fullName, canReload, canUpdate }) => ({ name, fullName, canReload, canUpdate }))
  }

  async operate(service: string, verb: 'reload' | 'restart' | 'update'): Promise<{ readonly dryRun: boolean }> {
    const unit = UNITS.find((candidate) => candidate.name === service)
    if (unit === undefined) {
      throw new ApiError('NOT_FOUND', `There is no service ${service}; GET /services lists them`)
    }
    if (verb !== 'update') {
      await this.#engine.enforce(verb)
      return { dryRun: false }
    }
    if (!this.#touchesPackages) return { dryRun: true }
    await this.#update(unit)
    return { dryRun: false }
  }

  /** Keeps changed configuration files: they are this daemon's. */
  #update(unit: ManagedUnit): Promise<void> {
    const keep = ['-o', 'Dpkg::Options::=--force-confdef', '-o', 'Dpkg::Options::=--force-confold']
    // In a unit of its own: the daemon's unit may not write to the system.
    const argv = [
      'systemd-run',
      '--quiet',
      '--collect',
      '--wait',
      '--pipe',
      'apt-get',
      'install',
      '--yes',
      '--quiet',
      '--only-upgrade',
      ...keep,
      unit.package,
    ]
    const why = `update the package ${unit.package}`
    return this.#engine.run([{ kind: 'run', argv, undo: 'irreversible', timeout_ms: UPDATE_TIMEOUT_MS, why }])
  }
}
