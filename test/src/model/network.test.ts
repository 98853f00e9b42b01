import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import t from 'tap'
import { IpGroup, IpRoute, RouteType, StaticIp } from '../../../src/model/network.ts'

const fits = (schema: TSchema, value: unknown) => Compile(schema).Check(value)

t.test('an IP group with and without a subnet', async (test) => {
  const group = { id: 'g', name: 'lan', networkIp: '', networkMask: 0, gateway: '', defaultGateway: false }
  test.ok(fits(IpGroup, { ...group, assignedInterfaces: [] }))
  const assignedInterfaces = [{ nodeId: 'n', interfaceId: 'i' }]
  test.ok(fits(IpGroup, { ...group, networkIp: '2001:db8::', networkMask: 64, assignedInterfaces }))
  test.notOk(fits(IpGroup, { ...group, networkMask: 129, assignedInterfaces }))
  test.notOk(fits(IpGroup, { ...group, assignedInterfaces: [{ nodeId: 'n' }] }))
})

t.test('a static IP is one address of one node', async (test) => {
  const address = { id: 's', nodeId: 'n', groupId: 'g', ip: '192.0.2.1', externalPingCheck: true }
  test.ok(fits(StaticIp, address))
  for (const ip of ['192.0.2.1/24', 'fe80::1%eth0', 'host', '']) test.notOk(fits(StaticIp, { ...address, ip }), ip)
})

t.test('a route has one of four types', async (test) => {
  const texts = { destination: '', source: '', viaIp: '192.0.2.254', interface: '' }
  const route = { id: 'r', nodeId: 'n', name: 'up', ...texts, metric: null, enabled: true }
  for (const type of ['default', 'static', 'policy', 'blackhole']) test.ok(fits(IpRoute, { ...route, type }), type)
  test.notOk(fits(RouteType, 'unicast'))
  test.notOk(fits(IpRoute, { ...route, type: 'default', metric: -1 }))
})
