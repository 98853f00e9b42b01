import type { RunResult, UnitState, UnitVerb } from '../../src/drivers/host.ts'
import type { CarriedServers } from './carried-servers.ts'
import type { ManagedProgram, Run } from './managed-program.ts'
import { answers, reloadThroughMaster, rouse } from './master.ts'
import { commandLine } from './processes.ts'

const QUERY_TIMEOUT_MS = 10_000
const KILLED = 'HAProxy did not answer and was killed'
/** Time for a reload of the unit, which checks the configuration before it signals the master. */
const ROUSE_MS = 20_000

/**
 * HAProxy as a unit of systemd. Reloads go through the master socket, because systemctl does not say why one failed.
 */
export class SystemdUnit implements ManagedProgram {
  readonly #unit: string
  readonly #masterSocket: string
  readonly #run: Run
  readonly #carried: CarriedServers | undefined

  constructor(unit: string, masterSocket: string, run: Run, carried?: CarriedServers) {
    this.#unit = unit
    this.#masterSocket = masterSocket
    this.#run = run
    this.#carried = carried
  }

  async perform(verb: UnitVerb, timeout_ms: number): Promise<RunResult> {
    // journalctl accepts whole seconds; an extra line does no harm.
    const since_s = Math.floor(Date.now() / 1000)
    const log = (): Promise<string> => unitLog(this.#unit, since_s, this.#run)
    if (verb !== 'reload') await this.#carried?.forget()
    if (verb === 'start' || (await systemdState(this.#unit, this.#run)) !== 'running')
      return this.#told(await this.#systemctl([verb === 'reload' ? 'start' : verb], timeout_ms), log)
    const reload = () => this.#systemctl(['reload'], ROUSE_MS)
    if (verb === 'reload' && (await rouse(this.#masterSocket, timeout_ms, reload))) return this.#reload(timeout_ms, log)
    // systemd would wait for a hung HAProxy longer than any caller of this function.
    const mustDie = await this.#isHung()
    if (verb === 'reload' && !mustDie)
      return { exitCode: 1, output: `no HAProxy master answers on ${this.#masterSocket}` }
    if (mustDie) await this.#systemctl(['kill', '--signal=SIGKILL'], timeout_ms)
    const done = await this.#systemctl([verb === 'reload' ? 'restart' : verb], timeout_ms)
    return done.exitCode === 0 && mustDie ? { exitCode: 0, output: KILLED } : this.#told(done, log)
  }

  #reload(timeout_ms: number, log: () => Promise<string>): Promise<RunResult> {
    const reload = () => reloadThroughMaster(this.#masterSocket, timeout_ms, log)
    return this.#carried === undefined ? reload() : this.#carried.over(reload)
  }

  async #told(result: RunResult, log: () => Promise<string>): Promise<RunResult> {
    if (result.exitCode === 0 || result.exitCode === 127) return result
    return { exitCode: result.exitCode, output: `${result.output}\n${await log()}`.trim() }
  }

  /**
   * Whether HAProxy hangs. One that was started without this master socket does not answer there, but serves all the
   * same.
   */
  async #isHung(): Promise<boolean> {
    if (await answers(this.#masterSocket)) return false
    const { output } = await this.#run(['systemctl', 'show', '--property=MainPID', this.#unit], QUERY_TIMEOUT_MS)
    const words = commandLine(Number(/^MainPID=(\d+)$/m.exec(output)?.[1] ?? 0))
    return words.some((word) => word.split(',')[0] === this.#masterSocket)
  }

  #systemctl(words: readonly string[], timeout_ms: number): Promise<RunResult> {
    return this.#run(['systemctl', ...words, this.#unit], timeout_ms)
  }

  async state(): Promise<UnitState> {
    const state = await systemdState(this.#unit, this.#run)
    return state === 'running' && (await this.#isHung()) ? 'silent' : state
  }
}

export async function systemdState(unit: string, run: Run): Promise<UnitState> {
  const show = ['systemctl', 'show', '--property=LoadState', '--property=ActiveState', unit]
  const { exitCode, output } = await run(show, QUERY_TIMEOUT_MS)
  if (exitCode !== 0) return 'missing'
  if (!output.includes('LoadState=loaded')) return 'missing'
  if (/ActiveState=(active|reloading)\b/.test(output)) return 'running'
  return output.includes('ActiveState=failed') ? 'failed' : 'stopped'
}

/** Returns the journal of the unit since then; '' when it cannot be read. */
export async function unitLog(unit: string, since_s: number, run: Run): Promise<string> {
  const argv = ['journalctl', '--unit', unit, '--since', `@${since_s}`, '--output=cat', '--no-pager', '--lines=40']
  const { exitCode, output } = await run(argv, QUERY_TIMEOUT_MS)
  return exitCode === 0 ? output : ''
}
