import { canonicalNetwork, familyOf } from '../base/ip-network.ts'
import { newId } from '../base/ids.ts'
import type { NetworkInterface } from '../model/machine-facts.ts'
import type { IpGroup, IpRoute, StaticIp } from '../model/network.ts'
import type { NodeIdentity } from '../model/node.ts'
import { SECTION_NAMES, type SectionContents } from '../model/sections.ts'

/** The address of the node after the restore, whatever the backup says. */
export interface Management {
  readonly ip: string
  readonly subnet: Pick<IpGroup, 'networkIp' | 'networkMask' | 'gateway' | 'defaultGateway'>
  readonly interfaceId: string
}

/** The present id of the node, and the wanted one. */
export interface Identity {
  /** The id the node was born with. */
  readonly born: string
  readonly nodeId: string
  readonly wanted: string
  /** The other nodes of the backup: machines that join a new cluster in their places find their records. */
  readonly others: readonly string[]
  /** The present records of running. */
  readonly records: readonly NodeIdentity[]
}

const MANAGEMENT = 'management'

/**
 * Returns every section as this one node takes it over: records of nodes that the backup does not name are left out,
 * and floating IPs are disabled.
 */
export function fullContents(
  contents: SectionContents,
  identity: Identity,
  management: Management | undefined,
): SectionContents {
  const { born, wanted } = identity
  const kept = new Set([wanted, ...identity.others])
  const all = Object.fromEntries(SECTION_NAMES.map((name) => [name, contents[name] ?? []])) as Required<SectionContents>
  const ofNode = ({ nodeId }: { readonly nodeId: string }) => kept.has(nodeId)
  const own = ({ id }: { readonly id: string }) => kept.has(id)
  const restored = {
    ...all,
    nodeIdentities: wanted === identity.nodeId ? identity.records : [{ id: born, nodeId: wanted }],
    floatingIps: all.floatingIps.map((address) => ({ ...address, enabled: false })),
    staticIps: all.staticIps.filter(ofNode),
    ipRoutes: all.ipRoutes.filter(ofNode),
    ipGroups: all.ipGroups.map((group) => ({ ...group, assignedInterfaces: group.assignedInterfaces.filter(ofNode) })),
    conntrackLimits: all.conntrackLimits.filter(own),
    systemProxies: all.systemProxies.filter(own),
    userInterfaces: all.userInterfaces.filter(own),
    clocks: all.clocks.filter(own),
  }
  return withoutLostAgent(management === undefined ? restored : managed(restored, management, wanted))
}

/** Disables an SNMP agent whose address this node does not take over, until it gets another one. */
function withoutLostAgent(contents: Required<SectionContents>): SectionContents {
  const kept = new Set([...contents.staticIps, ...contents.floatingIps].map(({ id }) => id))
  const off = { serviceIpId: '', enabledV2: false, enabledV3: false } as const
  return {
    ...contents,
    snmpSettings: contents.snmpSettings.map((one) => (kept.has(one.serviceIpId) ? one : { ...one, ...off })),
  }
}

/**
 * Adds the management address, assigns the interface to its group, and makes the API listen there. Conflicting records
 * are changed or removed.
 */
function managed(
  contents: Required<SectionContents>,
  management: Management,
  nodeId: string,
): Required<SectionContents> {
  const { ip, subnet, interfaceId } = management
  const network = networkOf(subnet)
  const known = contents.ipGroups.find((group) => group.networkIp !== '' && networkOf(group) === network)
  const ofOthers = (known?.assignedInterfaces ?? []).filter((one) => one.nodeId !== nodeId)
  const assignedInterfaces = [...ofOthers, { nodeId, interfaceId }]
  const group: IpGroup =
    known === undefined
      ? { id: newId(), name: MANAGEMENT, ...subnet, assignedInterfaces }
      : { ...known, ...(subnet.gateway === '' ? {} : subnet), assignedInterfaces }
  const others = contents.ipGroups.filter(({ id }) => id !== group.id)
  const old = contents.staticIps.find((address) => address.ip === ip)
  const address: StaticIp = { id: old?.id ?? newId(), nodeId, groupId: group.id, ip, externalPingCheck: false }
  const family = familyOf(ip)
  const isOtherWay = (gateway: string) => subnet.defaultGateway && gateway !== '' && familyOf(gateway) === family
  return {
    ...contents,
    ipGroups: [
      ...others.map((other) => ({
        ...other,
        name: known === undefined && other.name.toLowerCase() === MANAGEMENT ? freeName(contents.ipGroups) : other.name,
        defaultGateway: other.defaultGateway && !isOtherWay(other.gateway),
      })),
      group,
    ],
    staticIps: [...contents.staticIps.filter(({ id }) => id !== address.id), address],
    floatingIps: contents.floatingIps.filter((floating) => floating.ip !== ip),
    ipRoutes: contents.ipRoutes.map((route) =>
      route.nodeId === nodeId && route.type === 'default' && route.metric === null && isOtherWay(route.viaIp)
        ? { ...route, enabled: false }
        : route,
    ),
    userInterfaces: contents.userInterfaces.map((settings) =>
      settings.ipId === '' || settings.id !== nodeId ? settings : { ...settings, ipId: address.id },
    ),
  }
}

const networkOf = ({ networkIp, networkMask }: Pick<IpGroup, 'networkIp' | 'networkMask'>): string =>
  canonicalNetwork(`${networkIp}/${networkMask}`)

/** Returns a new name for the group that had this name. */
function freeName(groups: readonly IpGroup[]): string {
  const taken = new Set(groups.map(({ name }) => name.toLowerCase()))
  let number = 2
  while (taken.has(`${MANAGEMENT} ${number}`)) number += 1
  return `${MANAGEMENT} ${number}`
}

/** Returns what must be repaired before the apply on a machine with other interfaces than the backup's. */
export function strangeInterfaces(
  contents: SectionContents,
  found: readonly NetworkInterface[],
  self: string,
): readonly string[] {
  const isThere = (text: string) => text === '' || found.some(({ id, name }) => id === text || name === text)
  const groups = (contents.ipGroups ?? []).filter((group) =>
    group.assignedInterfaces.some(({ nodeId, interfaceId }) => nodeId === self && !isThere(interfaceId)),
  )
  const routes = (contents.ipRoutes ?? []).filter(
    (route: IpRoute) => route.nodeId === self && !isThere(route.interface),
  )
  return [
    ...groups.map(({ name }) => `IP group ${name} uses an interface that this machine does not have`),
    ...routes.map(({ name }) => `route ${name} uses an interface that this machine does not have`),
  ]
}
