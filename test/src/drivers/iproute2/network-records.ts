import type { IpGroup, IpRoute, StaticIp } from '../../../../src/model/network.ts'

export const NODE = 'node-1'
export const ETH0 = 'eth0-id'
export const ETH1 = 'eth1-id'

/** 10.0.0.0/24 on eth0. */
export const ipGroup = (id: string, more: Partial<IpGroup> = {}): IpGroup => ({
  id,
  name: `group ${id}`,
  networkIp: '10.0.0.0',
  networkMask: 24,
  gateway: '',
  defaultGateway: false,
  assignedInterfaces: [{ nodeId: NODE, interfaceId: ETH0 }],
  ...more,
})

export const staticIp = (id: string, groupId: string, ip: string, more: Partial<StaticIp> = {}): StaticIp => ({
  id,
  nodeId: NODE,
  groupId,
  ip,
  externalPingCheck: true,
  ...more,
})

export const ipRoute = (id: string, more: Partial<IpRoute>): IpRoute => ({
  id,
  nodeId: NODE,
  name: `route ${id}`,
  type: 'static',
  destination: '',
  source: '',
  viaIp: '',
  interface: '',
  metric: null,
  enabled: true,
  ...more,
})
