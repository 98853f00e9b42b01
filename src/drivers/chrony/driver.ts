import { isHost } from '../../base/host-name.ts'
import type { ClockSettings } from '../../model/node.ts'
import type { Driver, PlanOptions, Step, UnitStep } from '../driver.ts'
import type { Problem } from '../../model/problem.ts'
import type { Setting } from '../host.ts'
import { nodeIn } from '../this-node.ts'
import { renderChrony } from './render.ts'

const CONFIG_FILE = '/etc/chrony/chrony.conf'
const CANDIDATE = `${CONFIG_FILE}.candidate`
const FILE_MODE = 0o644
const TIMEOUT_MS = 30_000
/** The unit runs now and starts at boot. */
const SERVICE: Setting = { kind: 'unitEnabled', unit: 'ntp' }

type Ntp = ClockSettings['ntp']

/** Synchronises the clock of one node by NTP. The configuration that was found is restored when ours ends. */
export function chronyDriver(nodeId: string): Driver {
  return {
    name: 'ntp',
    sections: ['clocks'],
    prepare: () => [],
    verify: (desired) => verify(desired.get('clocks', nodeIn(desired, nodeId))),
    plan: (running, desired, options) =>
      plan(
        running === undefined ? undefined : (running.get('clocks', nodeIn(running, nodeId))?.ntp ?? null),
        desired.get('clocks', nodeIn(desired, nodeId))?.ntp ?? null,
        options,
      ),
    effectOf({ section, id, before, after }, _, desired) {
      if (section !== 'clocks' || id !== nodeIn(desired, nodeId)) return undefined
      return isSame(before?.ntp ?? null, after?.ntp ?? null) ? undefined : 'restart'
    },
    render(desired) {
      const ntp = desired.get('clocks', nodeIn(desired, nodeId))?.ntp
      return ntp?.enabled === true ? [{ path: CONFIG_FILE, content: renderChrony(ntp.servers) }] : []
    },
    diagnose: (output, desired) => diagnose(output, desired.get('clocks', nodeIn(desired, nodeId))),
  }
}

function verify(clock: ClockSettings | undefined): readonly Problem[] {
  return (clock?.ntp?.servers ?? []).flatMap((server, index) =>
    isHost(server)
      ? []
      : [
          {
            section: 'clocks',
            id: clock?.id,
            field: `ntp.servers.${index}`,
            message: `${server} is not a host`,
          } as const,
        ],
  )
}

function isSame(before: Ntp, after: Ntp): boolean {
  if (before === null || after === null) return before === after
  if (before.enabled !== after.enabled) return false
  return !after.enabled || renderChrony(before.servers) === renderChrony(after.servers)
}

/** `running` is undefined when it is unknown, null when NTP is left as it was found. */
function plan(running: Ntp | undefined, desired: Ntp, options: PlanOptions): readonly Step[] {
  if (running !== undefined && isSame(running, desired)) return []
  if (desired === null) return running === undefined || running === null ? [] : givenBack(running.enabled)
  // The file is removed as well, so that the machine does not depend on earlier servers.
  if (!desired.enabled) return [serviceStep('disabled'), REMOVAL]
  const isAdoption = running === undefined && options.atLeast === 'runtime'
  // The found state of the service is stored before it is started.
  return [...fileSteps(renderChrony(desired.servers)), serviceStep('enabled'), restartStep(isAdoption ? 'skip' : 'act')]
}

function fileSteps(content: string): readonly Step[] {
  const file = { path: CONFIG_FILE, content, mode: FILE_MODE, timeout_ms: TIMEOUT_MS } as const
  return [
    {
      ...file,
      kind: 'check',
      why: 'let chrony check its new configuration',
      argv: ['chronyd', '-p', '-f', CANDIDATE],
    },
    {
      ...file,
      kind: 'replaceFile',
      why: 'install the checked chrony.conf',
      checked: true,
      keepsFound: true,
    },
  ]
}

const REMOVAL: Step = {
  kind: 'removeFile',
  why: 'restore chrony.conf as it was found',
  timeout_ms: TIMEOUT_MS,
  path: CONFIG_FILE,
  givesBack: true,
}

function givenBack(wasEnabled: boolean): readonly Step[] {
  return [REMOVAL, ...(wasEnabled ? [restartStep('act')] : []), serviceStep(undefined)]
}

function restartStep(whenUnchanged: UnitStep['whenUnchanged']): Step {
  const why = 'restart chrony with its new configuration'
  return { kind: 'unit', why, timeout_ms: TIMEOUT_MS, unit: 'ntp', verb: 'restart', undo: 'asFound', whenUnchanged }
}

function serviceStep(value: 'enabled' | 'disabled' | undefined): Step {
  const why = value === undefined ? 'leave chrony as it was found' : `make chrony ${value}, also after a boot`
  return { kind: 'setting', why, timeout_ms: TIMEOUT_MS, setting: SERVICE, value, isOptional: value !== 'enabled' }
}

/** Messages name a line: "… at line 2 in file …". The servers follow the first line. */
function diagnose(output: string, clock: ClockSettings | undefined): readonly Problem[] {
  const line = Number(/ at line (\d+) /.exec(output)?.[1])
  const servers = [...new Set(clock?.ntp?.servers)]
  const said = output.trim().split('\n').at(-1) ?? output
  const place = clock?.ntp?.servers.indexOf(servers[line - 2] ?? '') ?? -1
  const field = place === -1 ? 'ntp' : `ntp.servers.${place}`
  return [{ section: 'clocks', id: clock?.id, field, message: said.replace(/^\S+Z Fatal error : /, '') }]
}
