import { secondsOf } from '../../base/durations.ts'
import { type ConntrackLimit, type ConntrackTimeouts, SHARED } from '../../model/node.ts'
import type { ConfigView } from '../../model/sections.ts'
import type { Driver, Step } from '../driver.ts'
import type { Problem } from '../../model/problem.ts'
import { writtenHere } from '../fragment.ts'
import type { Setting } from '../host.ts'
import { nodeIn } from '../this-node.ts'

/** Loads the module at boot before the values are set: they do not exist without it. */
const MODULES_FILE = '/etc/modules-load.d/fulcrum.conf'
const SYSCTL_FILE = '/etc/sysctl.d/60-fulcrum-conntrack.conf'
const FILE_MODE = 0o644
const TIMEOUT_MS = 10_000

const MODULE: Setting = { kind: 'kernelModule', name: 'nf_conntrack' }
/** IPVS has timeouts only while this module is loaded. */
const IPVS_MODULE: Setting = { kind: 'kernelModule', name: 'ip_vs' }
const MAX = 'net.netfilter.nf_conntrack_max'
const ESTABLISHED = 'net.netfilter.nf_conntrack_tcp_timeout_established'
const FIN_WAIT = 'net.netfilter.nf_conntrack_tcp_timeout_fin_wait'
const UDP = 'net.netfilter.nf_conntrack_udp_timeout'
/** Timeout of UDP flows that were answered more than once. */
const UDP_STREAM = 'net.netfilter.nf_conntrack_udp_timeout_stream'

interface Wanted {
  readonly limit: ConntrackLimit | undefined
  readonly timeouts: ConntrackTimeouts | undefined
}

/** Size of this node's connection table, and the timeouts of netfilter and IPVS, which all nodes share. */
export function conntrackDriver(nodeId: string): Driver {
  const wanted = (view: ConfigView): Wanted => ({
    limit: view.get('conntrackLimits', nodeIn(view, nodeId)),
    timeouts: view.get('conntrackTimeouts', SHARED),
  })
  return {
    name: 'conntrack',
    sections: ['conntrackLimits', 'conntrackTimeouts'],
    prepare: () => [],
    verify: (desired) => verify(wanted(desired).timeouts),
    plan: (running, desired) => plan(running === undefined ? undefined : wanted(running), wanted(desired)),
    effectOf: ({ section, id }, _, desired) =>
      (section === 'conntrackLimits' && id === nodeIn(desired, nodeId)) || section === 'conntrackTimeouts'
        ? 'runtime'
        : undefined,
    render: (desired) => files(wanted(desired)),
    diagnose: () => [],
  }
}

function verify(timeouts: ConntrackTimeouts | undefined): readonly Problem[] {
  if (timeouts === undefined) return []
  const fields = ['tcpTimeout', 'tcpFinTimeout', 'udpTimeout'] as const
  return fields.flatMap((field) => {
    if (secondsOf(timeouts[field]) !== undefined) return []
    return [{ section: 'conntrackTimeouts', id: timeouts.id, field, message: `${field} is not a duration` }]
  })
}

const isEmpty = ({ limit, timeouts }: Wanted) => limit === undefined && timeouts === undefined

function plan(running: Wanted | undefined, desired: Wanted): readonly Step[] {
  if (isEmpty(desired)) return running === undefined || isEmpty(running) ? [] : takenBack(running)
  const before = running === undefined ? new Map<string, string>() : valuesOf(running)
  const after = valuesOf(desired)
  if (running !== undefined && [...before].join() === [...after].join()) return []
  const written = files(desired).map(({ path, content }): Step => ({
    ...basics('keep the connection tracking settings across reboots'),
    kind: 'replaceFile',
    path,
    content,
    mode: FILE_MODE,
    checked: false,
  }))
  const kept = [...after].map(([key, value]) => settingStep(sysctl(key), value))
  const given = [...before.keys()].filter((key) => !after.has(key)).map((key) => settingStep(sysctl(key), undefined))
  return [...written, settingStep(MODULE, 'loaded'), ...kept, ...given, ...ipvs(running, desired)]
}

/** A loaded module stays: it does nothing on its own, and others may use it by now. */
function takenBack(running: Wanted): readonly Step[] {
  const removed = [SYSCTL_FILE, MODULES_FILE].map((path): Step => ({
    ...basics('stop setting connection tracking at boot'),
    kind: 'removeFile',
    path,
  }))
  const given = [...valuesOf(running).keys()].map((key) => settingStep(sysctl(key), undefined))
  return [...removed, ...given, ...ipvs(running, { limit: undefined, timeouts: undefined })]
}

function ipvs(running: Wanted | undefined, desired: Wanted): readonly Step[] {
  const { timeouts } = desired
  if (timeouts === undefined && running?.timeouts === undefined) return []
  const value = timeouts && [timeouts.tcpTimeout, timeouts.tcpFinTimeout, timeouts.udpTimeout].map(seconds).join(' ')
  const loaded = value === undefined ? [] : [settingStep(IPVS_MODULE, 'loaded')]
  return [...loaded, settingStep({ kind: 'ipvsTimeouts' }, value)]
}

/** Kernel values by name, in a fixed order. */
function valuesOf({ limit, timeouts }: Wanted): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  if (limit !== undefined) values.set(MAX, String(limit.size))
  if (timeouts !== undefined) {
    values.set(ESTABLISHED, seconds(timeouts.tcpTimeout))
    values.set(FIN_WAIT, seconds(timeouts.tcpFinTimeout))
    values.set(UDP, seconds(timeouts.udpTimeout))
    values.set(UDP_STREAM, seconds(timeouts.udpTimeout))
  }
  return values
}

function files(wanted: Wanted) {
  if (isEmpty(wanted)) return []
  const lines = [...valuesOf(wanted)].map(([key, value]) => `${key} = ${value}`)
  return [
    { path: MODULES_FILE, content: writtenHere(['nf_conntrack']) },
    { path: SYSCTL_FILE, content: writtenHere(lines) },
  ]
}

const sysctl = (key: string): Setting => ({ kind: 'sysctl', key })

function settingStep(setting: Setting, value: string | undefined): Step {
  const name = setting.kind === 'sysctl' ? setting.key : setting.kind
  const why = value === undefined ? `restore ${name} as it was found` : `set ${name} to ${value}`
  // Without IPVS its timeouts do not exist; if the module is needed, the values show it.
  return { ...basics(why), kind: 'setting', setting, value, isOptional: setting.kind !== 'sysctl' }
}

const basics = (why: string) => ({ why, timeout_ms: TIMEOUT_MS })

/** Invalid durations were refused earlier; 0 would be refused by the kernel as well. */
const seconds = (duration: string): string => String(secondsOf(duration) ?? 0)
