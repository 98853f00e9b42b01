import type { RunResult, UnitName } from '../../../src/drivers/host.ts'
import { PROGRAMS } from '../../../src/drivers/programs.ts'
import type { Run } from '../managed-program.ts'

const QUERY_TIMEOUT_MS = 10_000
const UNCONFINED = { isUnconfined: true } as const

/**
 * Commands by state: whether a unit starts at boot, and whether it runs now. Mixed states may be found and given back,
 * but are never wanted.
 */
const COMMANDS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  enabled: [['enable', '--now']],
  disabled: [['disable', '--now']],
  'enabled stopped': [['enable'], ['stop']],
  'disabled running': [['disable'], ['start']],
}

/** Parses the output of `systemctl show`; undefined for a unit that does not exist. */
export function parseEnabled(output: string): string | undefined {
  const property = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(output)?.[1] ?? ''
  if (property('LoadState') !== 'loaded') return undefined
  const isEnabled = /^(enabled|enabled-runtime|alias|static)$/.test(property('UnitFileState'))
  const isRunning = /^(active|activating|reloading)$/.test(property('ActiveState'))
  if (isEnabled) return isRunning ? 'enabled' : 'enabled stopped'
  return isRunning ? 'disabled running' : 'disabled'
}

export async function readEnabled(unit: UnitName, run: Run): Promise<string | undefined> {
  const show = ['systemctl', 'show', '--property=LoadState,UnitFileState,ActiveState', PROGRAMS[unit].unit]
  const { exitCode, output } = await run(show, QUERY_TIMEOUT_MS)
  return exitCode === 0 ? parseEnabled(output) : undefined
}

/** Runs outside the confinement: for units that also have an init script, systemctl itself writes to /etc. */
export async function writeEnabled(unit: UnitName, value: string, run: Run, timeout_ms: number): Promise<RunResult> {
  let result: RunResult = { exitCode: 1, output: `a unit cannot be ${value}` }
  for (const words of COMMANDS[value] ?? []) {
    result = await run(['systemctl', ...words, PROGRAMS[unit].unit], timeout_ms, UNCONFINED)
    if (result.exitCode !== 0) return result
  }
  if (value !== 'enabled' || (await readEnabled(unit, run)) === 'enabled') return result
  return { exitCode: 1, output: await whyStopped(PROGRAMS[unit].unit, run) }
}

/** systemd does not report a failure when a condition of the unit prevents its start. */
async function whyStopped(unit: string, run: Run): Promise<string> {
  const { output } = await run(['systemctl', 'status', '--no-pager', '--lines=0', unit], QUERY_TIMEOUT_MS)
  const condition = /(\S+=\S+ was not met)/.exec(output)?.[1]
  return `${unit} does not run${condition === undefined ? '' : `: ${condition}`}`
}
