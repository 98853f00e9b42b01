import { createHash } from 'node:crypto'
import type { IpGroup } from '../../model/network.ts'
import type { Problem } from '../../model/problem.ts'
import type { ConfigView } from '../../model/sections.ts'
import { interfacePlace } from '../interface-names.ts'

/**
 * Kernels synchronise which client is connected to which real server, so that connections survive a failover. They use
 * unsigned multicast: any machine on that link can listen, and can forge connections. So it is enabled only for an
 * interface that a person names, and that carries nothing else.
 */

const IDS = 255

/** Whether this node synchronises with others over a group. */
const isFor = (group: IpGroup, nodeId: string): boolean =>
  group.connectionSync === true &&
  group.assignedInterfaces.length > 1 &&
  group.assignedInterfaces.some((one) => one.nodeId === nodeId)

/** Returns keepalived's statement, with a place for the interface name; undefined without synchronisation. */
export function syncStatement(view: ConfigView, nodeId: string): string | undefined {
  const group = [...view.list('ipGroups')].find((one) => isFor(one, nodeId))
  const link = group?.assignedInterfaces.find((one) => one.nodeId === nodeId)
  if (group === undefined || link === undefined) return undefined
  // Without a VRRP instance the kernel sends and receives at once, because a node may hold some addresses and not
  // others.
  return `lvs_sync_daemon ${interfacePlace(link.interfaceId)} id ${syncId(group)}`
}

/** Returns the same id on all nodes. */
const syncId = ({ id }: IpGroup): number => 1 + (createHash('sha256').update(id).digest().readUInt32BE(0) % IDS)

/** Ids of the nodes that synchronise with each other. */
export function syncedNodes(view: ConfigView): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const group of view.list('ipGroups'))
    for (const { nodeId } of group.assignedInterfaces) if (isFor(group, nodeId)) ids.add(nodeId)
  return ids
}

export function syncProblems(view: ConfigView): readonly Problem[] {
  const groups = [...view.list('ipGroups')]
  const synced = groups.filter(({ connectionSync }) => connectionSync === true)
  return synced.flatMap((group, at) => {
    const why = at > 0 ? `${synced[0]?.name} already has it, and only one group may` : whyNotAlone(group, groups, view)
    if (why === undefined) return []
    const message = `IP group ${group.name}: connectionSync is for a link that carries nothing else, but ${why}`
    return [{ section: 'ipGroups', id: group.id, field: 'connectionSync', message } as const]
  })
}

function whyNotAlone(group: IpGroup, groups: readonly IpGroup[], view: ConfigView): string | undefined {
  const links = new Set(group.assignedInterfaces.map(({ nodeId, interfaceId }) => `${nodeId} ${interfaceId}`))
  const other = groups.find(
    (one) =>
      one !== group && one.assignedInterfaces.some(({ nodeId, interfaceId }) => links.has(`${nodeId} ${interfaceId}`)),
  )
  if (other !== undefined) return `one of its interfaces is also used by the IP group ${other.name}`
  const floating = [...view.list('floatingIps')].find(({ groupId }) => groupId === group.id)
  if (floating !== undefined) return `the floating IP ${floating.ip} is in it`
  return group.gateway === '' ? undefined : `it has the gateway ${group.gateway}`
}
