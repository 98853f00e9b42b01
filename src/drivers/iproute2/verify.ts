import { type FieldProblem, problemIn } from '../../base/errors.ts'
import { canonicalNetwork } from '../../base/ip-network.ts'
import type { ConfigView, SectionName } from '../../model/sections.ts'
import { addressProblems, groupProblems, routeProblems } from '../../rules/network.ts'
import type { Problem } from '../../model/problem.ts'
import type { DesiredRoute } from '../host.ts'
import { defaultGateways, desiredNetwork, desiredRoute, enabledRoutes, placedAddresses } from './desired.ts'
import { connectedMetric, kernelMetric } from './kernel-metric.ts'
import { policyTables } from './policy-tables.ts'

/** Returns the problems that can be found without the machine. */
export function verifyNetwork(view: ConfigView, nodeId: string): readonly Problem[] {
  const own = ownProblems(view, nodeId)
  // Problems within records are reported first, without those that follow from them.
  return own.length > 0
    ? own
    : [...gatewaysOfOurs(view, nodeId), ...connectedNetworks(view, nodeId), ...sameRoutes(view, nodeId)]
}

function ownProblems(view: ConfigView, nodeId: string): readonly Problem[] {
  const problems: Problem[] = []
  const add = (section: SectionName, { id, title }: { id: string; title: string }, found: readonly FieldProblem[]) => {
    for (const { field, message } of found)
      problems.push({ section, id, field, message: `${title}: ${field} ${message}` })
  }
  for (const group of view.list('ipGroups')) {
    add('ipGroups', { id: group.id, title: `IP group ${group.name}` }, groupProblems(group))
  }
  for (const address of view.list('staticIps')) {
    const group = view.get('ipGroups', address.groupId)
    if (address.nodeId !== nodeId || group === undefined) continue
    add('staticIps', { id: address.id, title: `static IP ${address.ip}` }, addressProblems(address.ip, group))
  }
  const nodes = new Set([...view.list('staticIps')].map(({ ip }) => ip))
  for (const { id, ip, groupId } of view.list('floatingIps')) {
    const group = view.get('ipGroups', groupId)
    if (group === undefined) continue
    const found = addressProblems(ip, group)
    if (nodes.has(ip)) found.push(problemIn('ip', 'is also a static IP'))
    add('floatingIps', { id, title: `floating IP ${ip}` }, found)
  }
  for (const route of view.list('ipRoutes')) {
    if (route.nodeId !== nodeId) continue
    add('ipRoutes', { id: route.id, title: `route ${route.name}` }, routeProblems(route))
  }
  return problems
}

/** A next hop that is this node itself leads nowhere. */
function gatewaysOfOurs(view: ConfigView, nodeId: string): readonly Problem[] {
  const ours = new Set(desiredNetwork(view, nodeId).addresses.map(({ ip }) => ip))
  const message = (title: string, via: string | undefined) => `${title}: the next hop ${via} is an address of this node`
  const routes = enabledRoutes(view, nodeId)
  const tables = policyTables(routes)
  const ofRoutes = routes.flatMap((route) => {
    const { via } = desiredRoute(route, tables)
    if (via === undefined || !ours.has(via)) return []
    const problem = { section: 'ipRoutes', id: route.id, field: 'viaIp' } as const
    return [{ ...problem, message: message(`route ${route.name}`, via) }]
  })
  const ofGroups = defaultGateways(view, nodeId).flatMap(({ group, route: { via } }) => {
    if (via === undefined || !ours.has(via)) return []
    const problem = { section: 'ipGroups', id: group.id, field: 'gateway' } as const
    return [{ ...problem, message: message(`IP group ${group.name}`, via) }]
  })
  return [...ofRoutes, ...ofGroups]
}

/**
 * The kernel's own route to the network of an address must not be replaced; the result must not depend on which came
 * first.
 */
function connectedNetworks(view: ConfigView, nodeId: string): readonly Problem[] {
  const groups = new Map(
    placedAddresses(view, nodeId).map(({ group, address: { ip, prefix } }) => [
      canonicalNetwork(`${ip}/${prefix}`),
      group.name,
    ]),
  )
  return enabledRoutes(view, nodeId).flatMap((route) => {
    if (route.type !== 'static' && route.type !== 'blackhole') return []
    const wanted = desiredRoute(route, new Map())
    const group = groups.get(wanted.destination)
    // With a larger metric the route ranks behind the connected one.
    if (group === undefined || kernelMetric(wanted) > connectedMetric(wanted.destination)) return []
    const message = `route ${route.name}: ${wanted.destination} is the network of IP group ${group}, which is connected`
    return [{ section: 'ipRoutes', id: route.id, field: 'destination', message } as const]
  })
}

/** The kernel has one route per destination and metric: the second would silently replace the first. */
function sameRoutes(view: ConfigView, nodeId: string): readonly Problem[] {
  const routes = enabledRoutes(view, nodeId)
  const tables = policyTables(routes.filter(({ type }) => type === 'policy'))
  const first = new Map<string, string>()
  const candidates = [
    ...defaultGateways(view, nodeId).map(({ group, route }) => ({
      section: 'ipGroups' as const,
      id: group.id,
      field: 'defaultGateway',
      title: `IP group ${group.name}`,
      route,
    })),
    ...routes.map((route) => ({
      section: 'ipRoutes' as const,
      id: route.id,
      field: 'metric',
      title: `route ${route.name}`,
      route: desiredRoute(route, tables),
    })),
  ]
  return candidates.flatMap(({ section, id, field, title, route }) => {
    const key = placeOf(route)
    const other = first.get(key)
    if (other === undefined) first.set(key, title)
    if (other === undefined) return []
    const what = /^(0\.0\.0\.0|::)\/0$/.test(route.destination)
      ? 'the default route'
      : `the way to ${route.destination}`
    return [{ section, id, field, message: `${title} is ${what} with the same metric as ${other}` }]
  })
}

const placeOf = (route: DesiredRoute): string => `${route.table} ${route.destination} ${kernelMetric(route)}`
