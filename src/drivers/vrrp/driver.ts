import type { ConfigView, SectionName } from '../../model/sections.ts'
import type { ChangeEffect, Driver, PlanOptions, Step } from '../driver.ts'
import { writtenHere } from '../fragment.ts'
import type { Setting } from '../host.ts'
import { nodeIn } from '../this-node.ts'
import { type Instance, instancesOf } from './instances.ts'
import { ALIVE_PROGRAM, CONFIG_FILE, RELEASE_FILE, SYSCTL_FILE } from './paths.ts'
import { ALIVE_TEXT, renderRelease, renderVrrp, type Server } from './render.ts'
import { verifyVrrp } from './verify.ts'

const TIMEOUT_MS = 30_000
const OPEN_MODE = 0o644

const SERVICE: Setting = { kind: 'unitEnabled', unit: 'clusterha' }
/** Lets programs on every node listen on floating IPs, which only one node has. */
const NONLOCAL = ['net.ipv4.ip_nonlocal_bind', 'net.ipv6.ip_nonlocal_bind'] as const

/** The effect of a change in each section, if it matters here. */
const EFFECTS: ReadonlyMap<SectionName, ChangeEffect> = new Map([
  ['ipGroups', 'network'],
  ['staticIps', 'network'],
  ['floatingIps', 'network'],
  ['l7Frontends', 'reload'],
  ['l4Frontends', 'reload'],
])

/** The floating IPs that move between this node and others, and the programs that serve on them. */
interface Moving {
  readonly instances: readonly Instance[]
  readonly servers: readonly Server[]
}

/**
 * Floating IPs that move between the nodes of a cluster, by a separate keepalived for VRRP. `nodeIds` are the cluster's
 * nodes in order of precedence; none without a cluster, where the node has its floating IPs as its own addresses.
 */
export function vrrpDriver(nodeId: string, nodeIds: () => readonly string[]): Driver {
  const moving = (view: ConfigView): Moving => ({
    instances: instancesOf(view, { nodeId: nodeIn(view, nodeId), nodeIds: nodeIds() }),
    servers: serversIn(view),
  })
  return {
    name: 'clusterha',
    sections: [...EFFECTS.keys()],
    makesAnew: true,
    prepare: () => [],
    verify: (desired) => verifyVrrp(moving(desired).instances),
    plan: (running, desired, options) =>
      plan(running === undefined ? undefined : moving(running), moving(desired), options),
    effectOf: ({ section }, running, desired) => {
      const effect = EFFECTS.get(section)
      return effect === undefined || isSame(moving(running), moving(desired)) ? undefined : effect
    },
    render: (desired) => files(moving(desired)),
    diagnose: (output) => [{ section: undefined, id: undefined, field: undefined, message: output }],
  }
}

export function serversIn(view: ConfigView): readonly Server[] {
  const balances7 = serves(view.list('l7Frontends'))
  const balances4 = serves(view.list('l4Frontends'))
  return [...(balances7 ? (['haproxy'] as const) : []), ...(balances4 ? (['keepalived'] as const) : [])]
}

/** There may be thousands, and the first enabled one decides. */
function serves(frontends: Iterable<{ readonly enabled: boolean }>): boolean {
  for (const { enabled } of frontends) if (enabled) return true
  return false
}

function files({ instances, servers }: Moving) {
  if (instances.length === 0) return []
  const kernel = writtenHere(NONLOCAL.map((key) => `${key} = 1`))
  return [
    { path: SYSCTL_FILE, content: kernel },
    { path: ALIVE_PROGRAM, content: ALIVE_TEXT },
    { path: RELEASE_FILE, content: renderRelease(instances) },
    { path: CONFIG_FILE, content: renderVrrp(instances, servers) },
  ]
}

const isSame = (before: Moving, after: Moving): boolean =>
  JSON.stringify(files(before)) === JSON.stringify(files(after))

function plan(running: Moving | undefined, desired: Moving, { atLeast }: PlanOptions): readonly Step[] {
  if (desired.instances.length === 0) return running?.instances.length === 0 ? [] : givenBack()
  if (running !== undefined && atLeast === 'runtime' && isSame(running, desired)) return []
  const isAdoption = running === undefined && atLeast === 'runtime'
  const wanted = files(desired)
  return [
    ...wanted.filter(({ path }) => path === CONFIG_FILE).map(({ content }) => configCheck(content)),
    ...NONLOCAL.map((key) => nonlocal(key, '1')),
    ...wanted.map(({ path, content }): Step => ({
      kind: 'replaceFile',
      why: `write ${path}`,
      timeout_ms: TIMEOUT_MS,
      path,
      content,
      mode: OPEN_MODE,
      checked: path === CONFIG_FILE,
      namesInterfaces: true,
    })),
    {
      kind: 'unit',
      // A restart would move every address, so an apply never causes one.
      why: 'make the keepalived of floating IPs read its configuration',
      timeout_ms: TIMEOUT_MS,
      unit: 'clusterha',
      verb: 'reload',
      undo: running === undefined || running.instances.length === 0 ? 'asFound' : 'reload',
      whenUnchanged: isAdoption ? 'skip' : 'act',
      ...(losesAddresses(running, desired) ? {} : { isLast: true }),
    },
    { ...service('enabled', 'make it run, also after a boot'), isLast: true },
  ]
}

/** Whether addresses leave VRRP: they must be removed before the node adds them as its own. */
function losesAddresses(running: Moving | undefined, desired: Moving): boolean {
  const addresses = ({ instances }: Moving) =>
    instances.flatMap((one) => one.addresses.map(({ ip }) => `${one.interfaceId} ${ip}`))
  const kept = new Set(addresses(desired))
  return running !== undefined && addresses(running).some((address) => !kept.has(address))
}

const configCheck = (content: string): Step => ({
  kind: 'check',
  why: 'let keepalived check the configuration of floating IPs',
  timeout_ms: TIMEOUT_MS,
  path: CONFIG_FILE,
  content,
  mode: OPEN_MODE,
  argv: ['keepalived', '--config-test', '--vrrp', '--use-file', `${CONFIG_FILE}.candidate`],
  namesInterfaces: true,
})

/** A machine without IPv6 lacks one of these settings, and does not need it. */
const nonlocal = (key: (typeof NONLOCAL)[number], value: '1' | undefined): Step => ({
  kind: 'setting',
  why: value === undefined ? `restore ${key} as it was found` : 'allow programs to listen on addresses of another node',
  timeout_ms: TIMEOUT_MS,
  setting: { kind: 'sysctl', key },
  value,
  isOptional: true,
})

const service = (value: 'enabled' | undefined, why: string): Step => ({
  kind: 'setting',
  why,
  timeout_ms: TIMEOUT_MS,
  setting: SERVICE,
  value,
  isOptional: value === undefined,
})

/** The unit removes the addresses when it ends, if need be by means of the release file. */
function givenBack(): readonly Step[] {
  const remove = (path: string): Step => ({
    kind: 'removeFile',
    why: `remove ${path}`,
    timeout_ms: TIMEOUT_MS,
    path,
  })
  return [
    remove(CONFIG_FILE),
    {
      kind: 'unit',
      why: 'stop the keepalived of floating IPs, which removes them',
      timeout_ms: TIMEOUT_MS,
      unit: 'clusterha',
      verb: 'stop',
      undo: 'asFound',
      whenUnchanged: 'skip',
    },
    ...[RELEASE_FILE, ALIVE_PROGRAM, SYSCTL_FILE].map(remove),
    ...NONLOCAL.map((key) => nonlocal(key, undefined)),
    service(undefined, 'leave the unit as it was found'),
  ]
}
