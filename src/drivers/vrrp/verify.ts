import { VRRP_IDS } from '../../model/network.ts'
import type { Problem } from '../../model/problem.ts'
import { firstVrrpId, type Instance, RANGES } from './instances.ts'

/** Returns clashes of VRRP ids on one interface. keepalived distinguishes IPv4 and IPv6. */
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

/**
 * Clashes within one group: a removed node may still be preferred, and there are only as many ids as nodes in a
 * cluster.
 */
function ofPreferredNodes(instances: readonly Instance[]): readonly Problem[] {
  return instances.flatMap((one, at): Problem[] => {
    const other = instances
      .slice(0, at)
      .find((before) => before.group === one.group && meet(before, one) && before.vrrpId === one.vrrpId)
    if (other === undefined) return []
    const [{ id, ip }, { name }] = [one.first, one.group]
    const clash = `floating IP ${ip} would use the same VRRP id as ${other.first.ip} in the IP group ${name}`
    const message = `${clash}: set preferredNode to an existing node, or to none`
    return [{ section: 'floatingIps', id, field: 'preferredNode', message }]
  })
}

const meet = (a: Instance, b: Instance): boolean => a.interfaceId === b.interfaceId && a.family === b.family

const overlap = (a: Instance, b: Instance): boolean => Math.abs(firstVrrpId(a.group) - firstVrrpId(b.group)) < VRRP_IDS

/** Returns the first free range; the last one if none is free. */
function freeFirst(instances: readonly Instance[]): number {
  const taken = instances.map(({ group }) => firstVrrpId(group))
  const ranges = Array.from({ length: RANGES }, (_, at) => 1 + VRRP_IDS * at)
  const isFree = (first: number) => taken.every((other) => Math.abs(other - first) >= VRRP_IDS)
  return ranges.find(isFree) ?? 1 + VRRP_IDS * (RANGES - 1)
}
