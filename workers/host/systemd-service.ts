import type { RunResult, UnitState, UnitVerb } from '../../src/drivers/host.ts'
import type { ManagedProgram, Run } from './managed-program.ts'
import { unitLog, systemdState } from './systemd-unit.ts'

/** A system daemon that systemd runs and that reloads through its unit: chrony, sshd. */
export class SystemdService implements ManagedProgram {
  readonly #unit: string
  readonly #run: Run
  readonly #start: readonly string[]

  /** `waitsForStart`: a start waits until the unit has notified systemd that it is up, or has failed. */
  constructor(unit: string, run: Run, { waitsForStart = true } = {}) {
    this.#unit = unit
    this.#run = run
    this.#start = waitsForStart ? ['start'] : ['start', '--no-block']
  }

  async perform(verb: UnitVerb, timeout_ms: number): Promise<RunResult> {
    const since_s = Math.floor(Date.now() / 1000)
    const words = verb === 'start' ? this.#start : [verb === 'reload' ? 'reload-or-restart' : verb]
    const result = await this.#run(['systemctl', ...words, this.#unit], timeout_ms)
    if (result.exitCode === 0 || result.exitCode === 127) return result
    return {
      exitCode: result.exitCode,
      output: `${result.output}\n${await unitLog(this.#unit, since_s, this.#run)}`.trim(),
    }
  }

  state(): Promise<UnitState> {
    return systemdState(this.#unit, this.#run)
  }
}
