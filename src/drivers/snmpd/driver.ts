import { familyOf } from '../../base/ip-network.ts'
import { SHARED } from '../../model/node.ts'
import { missingOf } from '../../model/snmp.ts'
import type { ConfigView } from '../../model/sections.ts'
import { communityProblem, directiveProblem } from '../../rules/snmp.ts'
import type { Driver, PlanOptions, RunStep, Step } from '../driver.ts'
import type { Problem } from '../../model/problem.ts'
import type { Setting } from '../host.ts'
import { PROGRAMS } from '../programs.ts'
import { nodeIn } from '../this-node.ts'
import { type Agent, renderSnmpd } from './render.ts'

const CONFIG_FILE = '/etc/snmp/snmpd.conf'
/** The file holds secrets. snmpd reads it as root when it starts, and under its own account when it reloads. */
const FILE_MODE = 0o640
const ACCOUNT = 'Debian-snmp'
const TIMEOUT_MS = 30_000
const LISTEN_TIMEOUT_MS = 10_000
const SERVICE: Setting = { kind: 'unitEnabled', unit: 'snmp' }

/** `found`: as the machine had it; `off`: it does not run. */
type Wanted = Agent | 'found' | 'off'

/** snmpd of one node. Its whole configuration is ours while there is one; the found one is restored when ours ends. */
export function snmpdDriver(nodeId: string): Driver {
  const wanted = (view: ConfigView) => wantedIn(view, nodeIn(view, nodeId))
  return {
    name: 'snmp',
    sections: ['snmpSettings', 'snmpUsers', 'staticIps', 'floatingIps'],
    prepare: () => [],
    verify,
    plan: (running, desired, options) =>
      plan(running === undefined ? undefined : wanted(running), wanted(desired), options),
    effectOf({ section, id }, running, desired) {
      const isAddress = section === 'staticIps' || section === 'floatingIps'
      if (isAddress && id !== desired.get('snmpSettings', SHARED)?.serviceIpId) return undefined
      if (!isAddress && section !== 'snmpSettings' && section !== 'snmpUsers') return undefined
      return isSame(wanted(running), wanted(desired)) ? undefined : 'restart'
    },
    render(desired) {
      const agent = wanted(desired)
      return typeof agent === 'string' ? [] : [{ path: CONFIG_FILE, content: renderSnmpd(agent, true) }]
    },
    diagnose: (output) => [
      { section: 'snmpSettings', id: SHARED, field: undefined, message: output.trim() || 'snmpd gave no reason' },
    ],
  }
}

function wantedIn(view: ConfigView, nodeId: string): Wanted {
  const settings = view.get('snmpSettings', SHARED)
  if (settings === undefined || settings.serviceIpId === '') return 'found'
  const ip = addressOf(view, settings.serviceIpId, nodeId)
  // With a disabled floating IP, the agent rests like a frontend.
  if (ip === undefined || !(settings.enabledV2 || settings.enabledV3)) return 'off'
  return { settings, ip, users: [...view.list('snmpUsers')].filter((user) => missingOf(user).length === 0) }
}

function addressOf(view: ConfigView, id: string, nodeId: string): string | undefined {
  const own = view.get('staticIps', id)
  if (own !== undefined) return own.nodeId === nodeId ? own.ip : undefined
  const floating = view.get('floatingIps', id)
  return floating?.enabled === true ? floating.ip : undefined
}

/** Returns problems that the API refuses, but a backup or a pending change could bring. */
function verify(desired: ConfigView): readonly Problem[] {
  const settings = desired.get('snmpSettings', SHARED)
  if (settings === undefined) return []
  const { enabledV2, enabledV3, serviceIpId, community, location, contact } = settings
  if (serviceIpId === '' && !enabledV2 && !enabledV3) return []
  const about = (field: string, message: string | undefined): readonly Problem[] =>
    message === undefined
      ? []
      : [{ section: 'snmpSettings', id: SHARED, field, message: `${field} of the SNMP settings ${message}` }]
  return [
    ...about('serviceIpId', serviceIpId === '' ? 'is required while the agent is enabled' : undefined),
    ...about('community', enabledV2 && community === '' ? 'is required for version 2c' : communityProblem(community)),
    ...about('location', directiveProblem(location)),
    ...about('contact', directiveProblem(contact)),
  ]
}

function isSame(before: Wanted, after: Wanted): boolean {
  if (typeof before === 'string' || typeof after === 'string') return before === after
  return renderSnmpd(before) === renderSnmpd(after)
}

function plan(running: Wanted | undefined, desired: Wanted, options: PlanOptions): readonly Step[] {
  if (desired === 'found') return running === undefined || running === 'found' ? [] : givenBack()
  if (running !== undefined && isSame(running, desired)) return []
  if (desired === 'off') return [serviceStep('disabled'), REMOVAL]
  const isAdoption = running === undefined && options.atLeast === 'runtime'
  return [
    ...fileSteps(renderSnmpd(desired)),
    FRESH,
    // The found state of the service is stored before it is started.
    serviceStep('enabled'),
    restartStep(isAdoption ? 'skip' : 'act'),
    listens(desired),
  ]
}

/**
 * snmpd cannot check a file without serving it, and its warnings are of no use: values it could not read are never
 * rendered.
 */
function fileSteps(content: string): readonly Step[] {
  const file = { path: CONFIG_FILE, content, mode: FILE_MODE, timeout_ms: TIMEOUT_MS } as const
  return [
    { ...file, kind: 'check', why: 'check whether snmpd is installed', argv: ['snmpd', '-v'] },
    { ...file, kind: 'replaceFile', why: 'install snmpd.conf', checked: true, keepsFound: true },
    OWNER,
  ]
}

/** Runs outside, because the daemon may not change owners. */
const OWNER: RunStep = {
  kind: 'run',
  why: 'make snmpd reread its configuration on reload',
  timeout_ms: TIMEOUT_MS,
  argv: ['chgrp', ACCOUNT, CONFIG_FILE],
  undo: 'irreversible',
  outside: {},
}

/** systemd starts a unit at most five times in ten seconds; a person who tries settings is not a loop. */
const FRESH: Step = {
  kind: 'run',
  why: 'allow further restarts of snmpd',
  timeout_ms: TIMEOUT_MS,
  argv: ['systemctl', 'reset-failed', PROGRAMS.snmp.unit],
  undo: 'irreversible',
}

const REMOVAL: Step = {
  kind: 'removeFile',
  why: 'restore snmpd.conf as it was found',
  timeout_ms: TIMEOUT_MS,
  path: CONFIG_FILE,
  givesBack: true,
  foundMode: FILE_MODE,
}

/** An agent that ran before us reads its old configuration again. */
function givenBack(): readonly Step[] {
  const reread: Step = {
    kind: 'run',
    why: 'make a running snmpd read the restored configuration',
    timeout_ms: TIMEOUT_MS,
    argv: ['systemctl', 'try-restart', PROGRAMS.snmp.unit],
    undo: 'irreversible',
  }
  // There may have been no file.
  const find = ['find', '/etc', '-maxdepth', '2', '-path', CONFIG_FILE] as const
  return [REMOVAL, { ...OWNER, argv: [...find, '-exec', 'chgrp', ACCOUNT, '{}', '+'] }, reread, serviceStep(undefined)]
}

function restartStep(whenUnchanged: 'act' | 'skip'): Step {
  const why = 'restart snmpd with its new configuration'
  return { kind: 'unit', why, timeout_ms: TIMEOUT_MS, unit: 'snmp', verb: 'restart', undo: 'asFound', whenUnchanged }
}

function serviceStep(value: 'enabled' | 'disabled' | undefined): Step {
  const why = value === undefined ? 'leave snmpd as it was found' : `make snmpd ${value}, also after a boot`
  return { kind: 'setting', why, timeout_ms: TIMEOUT_MS, setting: SERVICE, value, isOptional: value !== 'enabled' }
}

/** Whether the agent could bind its address shows only when it listens. */
function listens({ ip, settings: { port } }: Agent): Step {
  const place = familyOf(ip) === 6 ? `[${ip}]:${port}` : `${ip}:${port}`
  return {
    kind: 'run',
    why: `wait until snmpd listens on ${place}`,
    timeout_ms: LISTEN_TIMEOUT_MS,
    argv: ['ss', '--no-header', '--listening', '--numeric', '--udp', '--processes', `src ${place}`],
    undo: 'irreversible',
    outside: {},
    expect: { comes: '"snmpd"', otherwise: `snmpd does not listen on ${place}: see journalctl -u snmpd` },
  }
}
