import { canonicalIp } from '../base/ip-network.ts'
import { syncedNodes } from '../drivers/keepalived/connection-sync.ts'
import type { ConfigView } from '../model/sections.ts'
import type { Warning } from '../model/warning.ts'
import { about } from './about.ts'

const SAYS =
  'has Layer 4 frontends, whose connections break when it moves to another node: give those nodes an IP group with connectionSync, on interfaces that carry nothing else'

/** Warns of floating IPs that move between nodes without connection sync. */
export function connectionsEnd(view: ConfigView): readonly Warning[] {
  const served = new Set<string>()
  for (const { enabled, ip } of view.list('l4Frontends')) if (enabled) served.add(canonicalIp(ip))
  if (served.size === 0) return []
  const synced = syncedNodes(view)
  return [...view.list('floatingIps')].flatMap(({ id, ip, enabled, groupId }) => {
    const nodes = view.get('ipGroups', groupId)?.assignedInterfaces ?? []
    const isTold = nodes.length < 2 || nodes.every(({ nodeId }) => synced.has(nodeId))
    return !enabled || !served.has(ip) || isTold
      ? []
      : [about('CONNECTIONS_END', 'floatingIps', { id, name: ip }, SAYS)]
  })
}
