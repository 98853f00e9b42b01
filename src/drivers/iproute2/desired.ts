import { canonicalIp, canonicalNetwork, familyOf, fullPrefix, parseNetwork } from '../../base/ip-network.ts'
import type { ConfigView, SectionRecords } from '../../model/sections.ts'
import { subnetOf } from '../../rules/network.ts'
import type { DesiredAddress, DesiredNetwork, DesiredRoute, DesiredRule } from '../host.ts'
import { placementOf, type Site, unmovable } from '../vrrp/instances.ts'
import { policyTables } from './policy-tables.ts'

type Group = SectionRecords['ipGroups']
type Route = SectionRecords['ipRoutes']

const MAIN_TABLE = 254
/** Each kind of rule takes two priorities, so that thousands fit below the kernel's own 32,766. */
const FIRST_PRIORITY = 10_000

const byId = (a: { readonly id: string }, b: { readonly id: string }): number =>
  a.id < b.id ? -1 : Number(a.id > b.id)

/** Returns the interface of a group on this node. */
export const interfaceOn = (group: Group, nodeId: string): string | undefined =>
  group.assignedInterfaces.find((assigned) => assigned.nodeId === nodeId)?.interfaceId

/**
 * Returns the network that the records of one node describe. `nodeIds` are the nodes of its cluster: floating IPs that
 * move between them are not included.
 */
export function desiredNetwork(view: ConfigView, nodeId: string, nodeIds: readonly string[] = []): DesiredNetwork {
  const site = { nodeId, nodeIds }
  const routes = enabledRoutes(view, nodeId)
  const tables = policyTables(routes.filter(({ type }) => type === 'policy'))
  const leftOut = [...unplaced(view, site), ...unmovable(view, site)]
  return {
    addresses: placed(view, site).map(({ address }) => address),
    routes: [
      ...defaultGateways(view, nodeId).map(({ route }) => route),
      ...routes.map((route) => desiredRoute(route, tables)),
    ],
    rules: rulesOf(routes, tables),
    ...(leftOut.length === 0 ? {} : { leftOut }),
  }
}

export const enabledRoutes = (view: ConfigView, nodeId: string): readonly Route[] =>
  [...view.list('ipRoutes')].filter((route) => route.nodeId === nodeId && route.enabled).toSorted(byId)

export interface PlacedAddress {
  readonly group: Group
  readonly address: DesiredAddress
}

/** In order of creation: the kernel sends from the first address of a subnet. */
export const placedAddresses = (view: ConfigView, nodeId: string): readonly PlacedAddress[] =>
  placed(view, { nodeId, nodeIds: [] })

function placed(view: ConfigView, site: Site): readonly PlacedAddress[] {
  const { nodeId } = site
  return addressesOf(view, site).flatMap(({ ip, groupId, pingCheck }) => {
    const group = view.get('ipGroups', groupId)
    const interfaceId = group === undefined ? undefined : interfaceOn(group, nodeId)
    if (group === undefined || interfaceId === undefined) return []
    const prefix = subnetOf(group)?.prefix ?? fullPrefix(familyOf(ip))
    const gateway = group.gateway === '' ? undefined : canonicalIp(group.gateway)
    return [{ group, address: { ip: canonicalIp(ip), prefix, interfaceId, pingCheck, gateway } }]
  })
}

/** Floating IPs come after the node's own addresses, so that the kernel never chooses them as source. */
function addressesOf(view: ConfigView, site: Site) {
  const own = [...view.list('staticIps')].filter((address) => address.nodeId === site.nodeId).toSorted(byId)
  const floating = [...view.list('floatingIps')]
    .filter((one) => one.enabled && placementOf(view, site, one) === 'here')
    .toSorted(byId)
  return [
    ...own.map(({ ip, groupId, externalPingCheck }) => ({
      kind: 'static IP',
      ip,
      groupId,
      pingCheck: externalPingCheck,
    })),
    ...floating.map(({ ip, groupId }) => ({ kind: 'floating IP', ip, groupId, pingCheck: true })),
  ]
}

function unplaced(view: ConfigView, site: Site): readonly string[] {
  return addressesOf(view, site).flatMap(({ kind, ip, groupId }) => {
    const group = view.get('ipGroups', groupId)
    if (group === undefined || interfaceOn(group, site.nodeId) !== undefined) return []
    return [`${kind} ${ip} is not added: its IP group ${group.name} has no interface on this node`]
  })
}

export interface GroupRoute {
  readonly group: Group
  readonly route: DesiredRoute
}

/** Default routes of IP groups. */
export function defaultGateways(view: ConfigView, nodeId: string): readonly GroupRoute[] {
  return [...view.list('ipGroups')].toSorted(byId).flatMap((group) => {
    const interfaceId = interfaceOn(group, nodeId)
    if (!group.defaultGateway || group.gateway === '' || interfaceId === undefined) return []
    const via = canonicalIp(group.gateway)
    const destination = everything(via)
    const route = { type: 'unicast', destination, via, interfaceId, metric: undefined, table: MAIN_TABLE } as const
    return [{ group, route }]
  })
}

const everything = (text: string): string => (familyOf(text) === 6 ? '::/0' : '0.0.0.0/0')

export function desiredRoute(route: Route, tables: ReadonlyMap<string, number>): DesiredRoute {
  const { type, destination, source, viaIp, metric } = route
  const reference = type === 'policy' ? source : viaIp
  return {
    type: type === 'blackhole' ? 'blackhole' : 'unicast',
    destination: destination === '' ? everything(reference) : canonicalNetwork(destination),
    via: viaIp === '' ? undefined : canonicalIp(viaIp),
    interfaceId: route.interface === '' ? undefined : route.interface,
    metric: metric ?? undefined,
    table: type === 'policy' ? (tables.get(route.id) ?? MAIN_TABLE) : MAIN_TABLE,
  }
}

/** A rule's packets. `width` orders rules: the longer source first, then the longer destination. */
interface Selector {
  readonly from: string
  readonly to: string | undefined
  readonly table: number
  readonly width: number
}

function rulesOf(routes: readonly Route[], tables: ReadonlyMap<string, number>): readonly DesiredRule[] {
  const selectors = new Map<number, Selector>()
  for (const { id, source, destination } of routes) {
    const table = tables.get(id)
    if (table === undefined) continue
    const to = destination === '' ? undefined : canonicalNetwork(destination)
    const from = canonicalNetwork(source)
    selectors.set(table, { from, to, table, width: prefixOf(from) * 256 + (to === undefined ? 0 : prefixOf(to)) })
  }
  // Rules of one width never compete unless they match the same packets.
  const widths = [...new Set([...selectors.values()].map(({ width }) => width))].sort((a, b) => b - a)
  return [...selectors.values()]
    .sort((a, b) => b.width - a.width || a.table - b.table)
    .flatMap(({ from, to, table, width }) => {
      const priority = FIRST_PRIORITY + 2 * widths.indexOf(width) + 1
      const rule = { priority, from, to, table, suppressPrefixLength: undefined }
      // With a route for everything, networks in the main table are still reached through that table.
      const known = { priority: priority - 1, from, to: undefined, table: MAIN_TABLE, suppressPrefixLength: 0 }
      return to === undefined ? [known, rule] : [rule]
    })
}

const prefixOf = (text: string): number => parseNetwork(text)?.prefix ?? 0
