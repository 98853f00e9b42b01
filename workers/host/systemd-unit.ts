import type { RunResult, UnitState, UnitVerb } from '../../src/drivers/host.ts'
import type { ManagedProgram, Run } from './managed-program.ts'
import { reloadThroughMaster } from './master.ts'

const QUERY_TIMEOUT_MS = 10_000

/** HAProxy as a unit of systemd. Reloads go through the master socket, because systemctl does not say why one failed. */
export class SystemdUnit implements ManagedProgram {
  readonly #unit: string
  readonly #masterSocket: string
  readonly #run: Run

  constructor(unit: string, masterSocket: string, run: Run) {
    this.#unit = unit
    this.#masterSocket = masterSocket
    this.#run = run
  }

  async perform(verb: UnitVerb, timeout_ms: number): Promise<RunResult> {
    // Seconds are what journalctl understands of a time; one more line than needed does no harm.
    const since_s = Math.floor(Date.now() / 1000)
    const log = (): Promise<string> => unitLog(this.#unit, since_s, this.#run)
    if (verb === 'reload' && (await this.state()) === 'running') {
      return reloadThroughMaster(this.#masterSocket, timeout_ms, log)
    }
    const result = await this.#run(['systemctl', verb === 'reload' ? 'start' : verb, this.#unit], timeout_ms)
    if (result.exitCode === 0 || result.exitCode === 127) return result
    return { exitCode: result.exitCode, output: `${result.output}\n${await log()}`.trim() }
  }

  state(): Promise<UnitState> {
    return systemdState(this.#unit, this.#run)
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

/** What the unit wrote to the journal since then; '' when it cannot be read. */
export async function unitLog(unit: string, since_s: number, run: Run): Promise<string> {
  const argv = ['journalctl', '--unit', unit, '--since', `@${since_s}`, '--output=cat', '--no-pager', '--lines=40']
  const { exitCode, output } = await run(argv, QUERY_TIMEOUT_MS)
  return exitCode === 0 ? output : ''
}
