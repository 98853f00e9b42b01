import { VRRP_IDS } from '../../model/network.ts'
import type { Problem } from '../../model/problem.ts'
import { firstVrrpId, type Instance, RANGES } from './instances.ts'

/** Whose packets keepalived could not tell apart on one interface: those of IPv4 and IPv6 it can. */
export const verifyVrrp = (instances: readonly Instance[]): readonly Problem[] => [
  ...ofGroups(instances),
  ...ofPreferredNodes(instances),
]

function ofGroups(instances: readonly Instance[]): readonly Problem[] {
  const problems = new Map<string, Problem>()
  for (const [at, one] of instances.entries()) {
    const other = instances
      .slice(0, at)
      .find((before) => before.group !== one.group && meet(before, one) && overlap(before, one))
    if (other === undefined) continue
    const { id, name } = one.group
    const clash = `the VRRP ids of the IP group ${name} are those of ${other.group.name} on the same interface`
    const message = `${clash}: set vrrpId of one of them to ${freeFirst(instances)}`
    problems.set(id, { section: 'ipGroups', id, field: 'vrrpId', message })
  }
  return [...problems.values()]
}

/** In one group: nodes that are removed are preferred still, and there are ids for those of a cluster only. */
function ofPreferredNodes(instances: readonly Instance[]): readonly Problem[] {
  return instances.flatMap((one, at): Problem[] => {
    const other = instances
      .slice(0, at)
      .find((before) => before.group === one.group && meet(before, one) && before.vrrpId === one.vrrpId)
    if (other === undefined) return []
    const [{ id, ip }, { name }] = [one.first, one.group]
    const clash = `floating IP ${ip} would move by the VRRP id of ${other.first.ip} in the IP group ${name}`
    const message = `${clash}: let it prefer a node that is there, or none`
    return [{ section: 'floatingIps', id, field: 'preferredNode', message }]
  })
}

const meet = (a: Instance, b: Instance): boolean => a.interfaceId === b.interfaceId && a.family === b.family

const overlap = (a: Instance, b: Instance): boolean => Math.abs(firstVrrpId(a.group) - firstVrrpId(b.group)) < VRRP_IDS

/** The first range that no group has; the last one where there is none. */
function freeFirst(instances: readonly Instance[]): number {
  const taken = instances.map(({ group }) => firstVrrpId(group))
  const ranges = Array.from({ length: RANGES }, (_, at) => 1 + VRRP_IDS * at)
  const isFree = (first: number) => taken.every((other) => Math.abs(other - first) >= VRRP_IDS)
  return ranges.find(isFree) ?? 1 + VRRP_IDS * (RANGES - 1)
}
