import { createHash } from 'node:crypto'
import { grouped } from '../../base/grouped.ts'
import { canonicalIp, familyOf, fullPrefix } from '../../base/ip-network.ts'
import { VRRP_IDS } from '../../model/network.ts'
import type { ConfigView, SectionRecords } from '../../model/sections.ts'
import { subnetOf } from '../../rules/network.ts'

type Group = SectionRecords['ipGroups']
type FloatingIp = SectionRecords['floatingIps']

/** A node, and the nodes that share its configuration. */
export interface Site {
  readonly nodeId: string
  /** All nodes in order of precedence, including this one; empty without a cluster. */
  readonly nodeIds: readonly string[]
}

/** A node that can hold the floating IPs of a group. */
export interface Participant {
  readonly nodeId: string
  /** Its address in the group, from which it sends advertisements. */
  readonly ip: string
}

/** Floating IPs of one group and family that move together: an instance in keepalived. */
export interface Instance {
  readonly name: string
  /** All instances of a sync group move together. */
  readonly syncGroup: string
  readonly group: Group
  readonly family: 4 | 6
  readonly vrrpId: number
  readonly interfaceId: string
  readonly own: Participant
  readonly others: readonly Participant[]
  readonly priority: number
  readonly addresses: readonly { readonly ip: string; readonly prefix: number }[]
  /** The floating IP that is blamed for problems of the instance. */
  readonly first: FloatingIp
}

/**
 * `here`: only this node can have it. `moves`: it moves between nodes, including this one. `elsewhere`: another node
 * has it.
 */
export type Placement = 'here' | 'moves' | 'elsewhere'

/** The sync group of addresses without a preferred node. */
const ALL = 'all'
/**
 * The highest possible: before it takes over, a node waits (256 - priority) / 256 of an advertisement's interval longer
 * (RFC 5798 §6.1).
 */
const PRIORITY_FIRST = 254
const PRIORITY_STEP = 10

const byId = (a: { readonly id: string }, b: { readonly id: string }): number =>
  a.id < b.id ? -1 : Number(a.id > b.id)

export const syncGroupOf = ({ preferredNode = '' }: Pick<FloatingIp, 'preferredNode'>): string =>
  preferredNode === '' ? ALL : `of-${preferredNode}`

const hasInterface = ({ assignedInterfaces }: Group, nodeId: string): boolean =>
  assignedInterfaces.some((one) => one.nodeId === nodeId)

/** Returns the nodes that can hold the floating IPs of one family of a group, in their order. */
export function participants(
  view: ConfigView,
  group: Group,
  family: 4 | 6,
  nodeIds: readonly string[],
): readonly Participant[] {
  const own = [...view.list('staticIps')]
    .filter(({ groupId, ip }) => groupId === group.id && familyOf(ip) === family)
    .toSorted(byId)
  return nodeIds.flatMap((nodeId) => {
    const address = own.find((one) => one.nodeId === nodeId)
    return address === undefined || !hasInterface(group, nodeId) ? [] : [{ nodeId, ip: canonicalIp(address.ip) }]
  })
}

/** Returns the placement of a floating IP from this node's view. One that only one node could have stays there. */
export function placementOf(view: ConfigView, { nodeId, nodeIds }: Site, floating: FloatingIp): Placement {
  const group = view.get('ipGroups', floating.groupId)
  if (group === undefined || nodeIds.length < 2) return 'here'
  const eligible = nodeIds.filter((id) => hasInterface(group, id))
  if (eligible.length < 2) return 'here'
  const able = participants(view, group, familyOf(floating.ip), nodeIds)
  if (able.length < 2) return (able[0]?.nodeId ?? eligible[0]) === nodeId ? 'here' : 'elsewhere'
  return able.some((one) => one.nodeId === nodeId) ? 'moves' : 'elsewhere'
}

/** Returns why floating IPs cannot move to a node that has an interface for them, as sentences. */
export function unmovable(view: ConfigView, { nodeIds }: Site): readonly string[] {
  const sentences = new Set<string>()
  for (const { enabled, groupId, ip } of [...view.list('floatingIps')].toSorted(byId)) {
    const group = view.get('ipGroups', groupId)
    if (!enabled || group === undefined) continue
    const eligible = nodeIds.filter((id) => hasInterface(group, id))
    if (eligible.length < 2) continue
    const family = familyOf(ip)
    const able = new Set(participants(view, group, family, nodeIds).map(({ nodeId }) => nodeId))
    for (const nodeId of eligible) {
      if (able.has(nodeId)) continue
      const missing = `it has no static IP of IPv${family} in it (POST /${nodeId}/sips)`
      sentences.add(`floating IPs of the IP group ${group.name} do not move to the node ${nodeId}: ${missing}`)
    }
  }
  return [...sentences]
}

/** Returns the instances of this node, in a fixed order. */
export function instancesOf(view: ConfigView, site: Site): readonly Instance[] {
  const moving = [...view.list('floatingIps')]
    .filter((one) => one.enabled && placementOf(view, site, one) === 'moves')
    .toSorted(byId)
  const together = grouped(moving, (one) => `${one.groupId} ${familyOf(one.ip)} ${one.preferredNode ?? ''}`)
  return [...together.values()]
    .flatMap((floating) => instanceOf(view, site, floating))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function instanceOf(view: ConfigView, { nodeId, nodeIds }: Site, floating: readonly FloatingIp[]): readonly Instance[] {
  const [first] = floating
  const group = first && view.get('ipGroups', first.groupId)
  if (first === undefined || group === undefined) return []
  const { preferredNode = '' } = first
  const family = familyOf(first.ip)
  const ordered = [...nodeIds.filter((id) => id === preferredNode), ...nodeIds.filter((id) => id !== preferredNode)]
  const able = participants(view, group, family, ordered)
  const own = able.find((one) => one.nodeId === nodeId)
  const interfaceId = group.assignedInterfaces.find((one) => one.nodeId === nodeId)?.interfaceId
  if (own === undefined || interfaceId === undefined) return []
  const syncGroup = syncGroupOf(first)
  const prefix = subnetOf(group)?.prefix ?? fullPrefix(family)
  return [
    {
      name: `${group.id}.${family}.${syncGroup}`,
      syncGroup,
      group,
      family,
      vrrpId: firstVrrpId(group) + offsetOf(group, preferredNode, nodeIds),
      interfaceId,
      own,
      others: able.filter((one) => one.nodeId !== nodeId),
      priority: PRIORITY_FIRST - PRIORITY_STEP * able.indexOf(own),
      addresses: floating.map(({ ip }) => ({ ip: canonicalIp(ip), prefix })),
      first,
    },
  ]
}

/** One place per node of a cluster, for its preferred addresses. */
const PLACES = VRRP_IDS - 1
/** Number of disjoint ranges of VRRP ids. */
export const RANGES = 42

export function firstVrrpId({ id, vrrpId = 0 }: Group): number {
  return vrrpId > 0 ? vrrpId : 1 + VRRP_IDS * (createHash('sha256').update(id).digest().readUInt32BE(0) % RANGES)
}

/**
 * Returns the offset of a preferred node's VRRP id; offset 0 is for addresses without one. A node's place is its index
 * in the group's list of nodes, which is stable and includes former members. If the place is taken, or the node is not
 * listed, it gets the next one that no member has.
 */
function offsetOf({ assignedInterfaces }: Group, preferredNode: string, nodeIds: readonly string[]): number {
  if (preferredNode === '') return 0
  const assigned = assignedInterfaces.map(({ nodeId }) => nodeId)
  const places = new Map<string, number>()
  for (const nodeId of [...assigned.filter((id) => nodeIds.includes(id)), ...nodeIds, preferredNode])
    if (!places.has(nodeId)) places.set(nodeId, freePlace(Math.max(assigned.indexOf(nodeId), 0), [...places.values()]))
  return 1 + (places.get(preferredNode) ?? 0)
}

/** Returns the first free place from this one on, cyclically; this one if none is free. */
function freePlace(from: number, taken: readonly number[]): number {
  const places = Array.from({ length: PLACES }, (_, at) => (from + at) % PLACES)
  return places.find((place) => !taken.includes(place)) ?? from % PLACES
}
