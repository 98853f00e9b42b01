import type { IpGroup } from '../../../../src/model/network.ts'
import type { Records } from '../../../fixtures/view.ts'

export const PAIR = ['node', 'node-2'] as const

/** A group with an interface and an address on each node, and floating IPs in it. */
export function pair({
  nodes = PAIR,
  floating = ['10.0.0.100'],
  group = {},
}: {
  readonly nodes?: readonly string[]
  readonly floating?: readonly string[]
  readonly group?: Partial<IpGroup>
}): Records {
  const lan: IpGroup = {
    id: 'lan',
    name: 'LAN',
    networkIp: '10.0.0.0',
    networkMask: 24,
    gateway: '',
    defaultGateway: false,
    assignedInterfaces: nodes.map((nodeId, at) => ({ nodeId, interfaceId: `card-${'abc'[at]}` })),
    ...group,
  }
  return {
    ipGroups: [lan],
    staticIps: nodes.map((nodeId, at) => ({
      id: `ip-${at}`,
      nodeId,
      groupId: lan.id,
      ip: `10.0.0.${5 + at}`,
      externalPingCheck: true,
    })),
    floatingIps: floating.map((ip, at) => ({ id: `fip-${at}`, ip, groupId: lan.id, enabled: true })),
  }
}
