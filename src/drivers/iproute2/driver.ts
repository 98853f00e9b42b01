import type { ConfigView, RecordChange } from '../../model/sections.ts'
import type { Driver, NetworkStep, PlanOptions, Step } from '../driver.ts'
import type { DesiredNetwork } from '../host.ts'
import { nodeIn } from '../this-node.ts'
import { desiredNetwork } from './desired.ts'
import { SHOWN_AS, textOf } from './text.ts'
import { verifyNetwork } from './verify.ts'

const TIMEOUT_MS = 60_000
const SECTIONS = ['ipGroups', 'staticIps', 'floatingIps', 'ipRoutes'] as const

/** Addresses, routes and rules of one node. */
export function networkDriver(nodeId: string, nodeIds: () => readonly string[] = () => []): Driver {
  const networkOf = (view: ConfigView) => desiredNetwork(view, nodeIn(view, nodeId), nodeIds())
  return {
    name: 'network',
    sections: SECTIONS,
    makesAnew: true,
    prepare: () => [],
    verify: (desired) => verifyNetwork(desired, nodeIn(desired, nodeId)),
    plan: (running, desired, options) =>
      planFor(running === undefined ? undefined : networkOf(running), networkOf(desired), options),
    effectOf(change, running, desired) {
      if (!concerns(change, nodeIn(desired, nodeId))) return undefined
      return isSame(networkOf(running), networkOf(desired)) ? 'runtime' : 'network'
    },
    render(desired) {
      const content = textOf(networkOf(desired))
      return content === '' ? [] : [{ path: SHOWN_AS, content }]
    },
    diagnose: (output) => [{ section: undefined, id: undefined, field: undefined, message: output }],
  }
}

/**
 * From an unknown state the network is settled as well; on a node without a network of ours that costs one look at a
 * file. Other machines are then not asked about addresses: an applied network stays in force when the daemon or the
 * machine restarts, or a change is taken back.
 */
function planFor(
  before: DesiredNetwork | undefined,
  wanted: DesiredNetwork,
  { isReturn }: PlanOptions,
): readonly Step[] {
  const isMade = before !== undefined && isSame(before, wanted)
  if (isMade && isSameText(before.leftOut, wanted.leftOut)) return []
  const settling = 'set addresses and routes as configured'
  // One address that the kernel no longer accepts must not cost all the others.
  if (before === undefined || isReturn === true)
    return [{ ...step(unasked(wanted), 'settle', settling), keepsPart: true }]
  const add = step(wanted, 'add', 'add missing addresses and routes')
  const settle = step(wanted, 'settle', settling)
  return isMade || isNothing(wanted) ? [settle] : [add, settle]
}

/** Omissions were reported when the network was applied. */
const unasked = ({ addresses, routes, rules }: DesiredNetwork): DesiredNetwork => ({
  routes,
  rules,
  addresses: addresses.map((address) => ({ ...address, pingCheck: false })),
})

const step = (desired: DesiredNetwork, phase: NetworkStep['phase'], why: string): NetworkStep => ({
  kind: 'network',
  why,
  timeout_ms: TIMEOUT_MS,
  desired,
  phase,
})

const isNothing = ({ addresses, routes, rules }: DesiredNetwork): boolean =>
  addresses.length + routes.length + rules.length === 0
const isSameText = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)
const isSame = (a: DesiredNetwork, b: DesiredNetwork): boolean =>
  isSameText([a.addresses, a.routes, a.rules], [b.addresses, b.routes, b.rules])

/** Changing only names costs nothing; any other change of these records may redirect packets. */
function concerns(change: RecordChange, nodeId: string): boolean {
  if (!SECTIONS.some((section) => section === change.section)) return false
  const known = change.after ?? change.before
  return known === undefined || !('nodeId' in known) || known.nodeId === nodeId
}
