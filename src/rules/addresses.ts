import type { Problem } from '../model/problem.ts'
import { canonicalIp } from '../base/ip-network.ts'
import type { StaticIp } from '../model/network.ts'
import { type ConfigView, SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'

/**
 * A static IP must not be removed while something listens on it. Drafts prevent that as far as they can; discarding or
 * applying a part of the pending changes could still remove it, and so could its IP group by losing its interface.
 */
export function verifyAddresses(desired: ConfigView, running: ConfigView): readonly Problem[] {
  const gone = goneAddresses(desired, running)
  if (gone.size === 0) return []
  return [...SECTION_NAMES.flatMap((section) => listenersOn(gone, desired, section)), ...byRecord(gone, desired)]
}

/** Returns the addresses that exist in running and not in desired, with the reason. */
function goneAddresses(desired: ConfigView, running: ConfigView): ReadonlyMap<string, string> {
  const kept = new Map([...desired.list('staticIps')].map((address) => [address.ip, address]))
  const floating = new Set([...desired.list('floatingIps')].map(({ ip }) => ip))
  // Includes disabled ones, whose loss is no problem: their listeners are disabled too.
  const lost = [...running.list('floatingIps')].filter(({ ip }) => !kept.has(ip) && !floating.has(ip))
  return new Map([
    ...lost.map(({ ip }) => [ip, 'would be removed'] as const),
    ...[...running.list('staticIps')].flatMap((address): readonly (readonly [string, string])[] => {
      const after = kept.get(address.ip)
      if (after === undefined) return floating.has(address.ip) ? [] : [[address.ip, 'would be removed']]
      if (!isMade(address, running) || isMade(after, desired)) return []
      const group = desired.get('ipGroups', after.groupId)?.name ?? after.groupId
      return [[address.ip, `would be removed, because its IP group ${group} no longer has an interface on the node,`]]
    }),
  ])
}

function isMade({ nodeId, groupId }: StaticIp, view: ConfigView): boolean {
  const assigned = view.get('ipGroups', groupId)?.assignedInterfaces ?? []
  return assigned.some((one) => one.nodeId === nodeId)
}

function listenersOn<N extends SectionName>(
  gone: ReadonlyMap<string, string>,
  desired: ConfigView,
  section: N,
): readonly Problem[] {
  const { addresses } = SECTIONS[section]
  if (addresses === undefined) return []
  return [...desired.list(section)].flatMap((record) =>
    addresses(record).flatMap(({ field, ip }) => {
      const reason = gone.get(canonicalIp(ip))
      if (reason === undefined) return []
      return [{ section, id: record.id, field, message: `${ip} ${reason} but is still in use by a listener` }]
    }),
  )
}

/** The API and the SNMP agent refer to their address by record, which may remain although no node has the address. */
function byRecord(gone: ReadonlyMap<string, string>, desired: ConfigView): readonly Problem[] {
  const problemOf = (ipId: string, listener: string): string | undefined => {
    const ip = desired.get('staticIps', ipId)?.ip
    const reason = ip === undefined ? undefined : gone.get(ip)
    return reason === undefined ? undefined : `${ip} ${reason} but ${listener} still listens on it`
  }
  const problems: Problem[] = []
  for (const { id, ipId } of desired.list('userInterfaces')) {
    const message = problemOf(ipId, 'the API')
    if (message !== undefined) problems.push({ section: 'userInterfaces', id, field: 'ipId', message })
  }
  for (const { id, serviceIpId, enabledV2, enabledV3 } of desired.list('snmpSettings')) {
    const message = enabledV2 || enabledV3 ? problemOf(serviceIpId, 'the SNMP agent') : undefined
    if (message !== undefined) problems.push({ section: 'snmpSettings', id, field: 'serviceIpId', message })
  }
  return problems
}
