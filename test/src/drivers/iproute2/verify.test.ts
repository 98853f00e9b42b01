import t from 'tap'
import { verifyNetwork } from '../../../../src/drivers/iproute2/verify.ts'
import { type Records, viewOf } from '../../../fixtures/view.ts'
import { ETH1, ipGroup, ipRoute, NODE, staticIp } from './network-records.ts'

const problems = (records: Records) =>
  verifyNetwork(viewOf(records), NODE).map(({ section, id, field, message }) => `${section} ${id} ${field}: ${message}`)

t.test('a valid configuration has no problems; overlapping groups on one interface are valid', async (test) => {
  test.same(
    problems({
      ipGroups: [ipGroup('a', { gateway: '10.0.0.1', defaultGateway: true }), ipGroup('b', { networkMask: 16 })],
      staticIps: [staticIp('1', 'a', '10.0.0.5'), staticIp('2', 'b', '10.0.1.5')],
      ipRoutes: [
        ipRoute('1', { type: 'default', viaIp: '10.0.0.2', metric: 1 }),
        ipRoute('2', { type: 'default', viaIp: '2001:db8::1' }),
        ipRoute('3', { type: 'policy', source: '10.0.0.5', viaIp: '10.0.0.2' }),
      ],
    }),
    [],
  )
})

t.test('an address outside its network, or its network or broadcast address', async (test) => {
  const staticIps = ['10.0.1.5', '10.0.0.0', '10.0.0.255'].map((ip, index) => staticIp(String(index), 'a', ip))
  test.same(problems({ ipGroups: [ipGroup('a')], staticIps }), [
    'staticIps 0 ip: static IP 10.0.1.5: ip is not in 10.0.0.0/24, the network of the IP group group a',
    'staticIps 1 ip: static IP 10.0.0.0: ip is the network address of 10.0.0.0/24',
    'staticIps 2 ip: static IP 10.0.0.255: ip is the broadcast address of 10.0.0.0/24',
  ])
})

t.test('a gateway outside its network', async (test) => {
  test.same(problems({ ipGroups: [ipGroup('a', { gateway: '10.0.1.1' })] }), [
    'ipGroups a gateway: IP group group a: gateway is not in the network 10.0.0.0/24',
  ])
})

t.test('a next hop of another family than its destination', async (test) => {
  test.same(problems({ ipRoutes: [ipRoute('1', { destination: '10.8.0.0/16', viaIp: '2001:db8::1' })] }), [
    'ipRoutes 1 viaIp: route route 1: viaIp is IPv6, but destination is IPv4',
  ])
})

t.test('two default routes of one family with the same metric, the gateway of a group included', async (test) => {
  const ipGroups = [
    ipGroup('a', { gateway: '10.0.0.1', defaultGateway: true }),
    ipGroup('b', {
      gateway: '10.0.0.2',
      defaultGateway: true,
      assignedInterfaces: [{ nodeId: NODE, interfaceId: ETH1 }],
    }),
    ipGroup('c', { gateway: '10.0.0.3', defaultGateway: true, assignedInterfaces: [] }),
  ]
  const ipRoutes = [
    ipRoute('1', { type: 'default', viaIp: '10.0.0.3', metric: 0 }),
    ipRoute('2', { type: 'default', viaIp: '2001:db8::1' }),
    ipRoute('3', { type: 'default', viaIp: '2001:db8::2', metric: 1024 }),
    ipRoute('4', { type: 'default', viaIp: '10.0.0.4', enabled: false }),
  ]
  const same = 'is the default route with the same metric as'
  test.same(problems({ ipGroups, ipRoutes }), [
    `ipGroups b defaultGateway: IP group group b ${same} IP group group a`,
    `ipRoutes 1 metric: route route 1 ${same} IP group group a`,
    `ipRoutes 3 metric: route route 3 ${same} route route 2`,
  ])
})

t.test('two routes for the same packets with the same metric', async (test) => {
  const policy = { type: 'policy', source: '10.0.0.5' } as const
  const ipRoutes = [
    ipRoute('1', { destination: '10.8.0.0/16', viaIp: '10.0.0.1' }),
    ipRoute('2', { type: 'blackhole', destination: '10.8.0.0/16' }),
    ipRoute('3', { ...policy, viaIp: '10.0.0.1' }),
    ipRoute('4', { ...policy, viaIp: '10.0.0.2' }),
    ipRoute('5', { ...policy, viaIp: '10.0.0.2', metric: 1 }),
  ]
  test.same(problems({ ipRoutes }), [
    'ipRoutes 2 metric: route route 2 is the way to 10.8.0.0/16 with the same metric as route route 1',
    'ipRoutes 4 metric: route route 4 is the default route with the same metric as route route 3',
  ])
})

t.test('a next hop that is an address of this node', async (test) => {
  test.same(
    problems({
      ipGroups: [
        ipGroup('a', { gateway: '10.0.0.1', defaultGateway: true }),
        ipGroup('b', { networkIp: '', networkMask: 0 }),
      ],
      staticIps: [staticIp('1', 'b', '10.0.0.1'), staticIp('2', 'a', '10.0.0.7')],
      ipRoutes: [ipRoute('1', { destination: '10.8.0.0/16', viaIp: '10.0.0.7' })],
    }),
    [
      'ipRoutes 1 viaIp: route route 1: the next hop 10.0.0.7 is an address of this node',
      'ipGroups a gateway: IP group group a: the next hop 10.0.0.1 is an address of this node',
    ],
  )
})

t.test('a route to a network that one of our addresses connects', async (test) => {
  const ipGroups = [
    ipGroup('a'),
    ipGroup('b', { networkIp: '2001:db8::', networkMask: 64 }),
    ipGroup('c', { networkMask: 16 }),
  ]
  const staticIps = [staticIp('1', 'a', '10.0.0.5'), staticIp('2', 'b', '2001:db8::5')]
  const ipRoutes = [
    ipRoute('1', { destination: '10.0.0.0/24', viaIp: '10.88.0.1' }),
    ipRoute('2', { type: 'blackhole', destination: '2001:db8:0::/64', metric: 256 }),
    ipRoute('3', { destination: '10.0.0.0/24', viaIp: '10.88.0.1', metric: 1 }),
    ipRoute('4', { destination: '2001:db8::/64', viaIp: '2001:db8:1::1' }),
    ipRoute('5', { destination: '10.0.0.0/16', viaIp: '10.88.0.1' }),
    ipRoute('6', { destination: '10.0.0.128/25', viaIp: '10.88.0.1' }),
    ipRoute('7', { destination: '10.0.0.0/24', viaIp: '10.88.0.2', enabled: false }),
  ]
  test.same(problems({ ipGroups, staticIps, ipRoutes }), [
    'ipRoutes 1 destination: route route 1: 10.0.0.0/24 is the network of IP group group a, which is connected',
    'ipRoutes 2 destination: route route 2: 2001:db8::/64 is the network of IP group group b, which is connected',
  ])
})

t.test('records of other nodes are not checked here', async (test) => {
  const staticIps = [staticIp('1', 'a', '11.0.0.5', { nodeId: 'other' })]
  const ipRoutes = [ipRoute('1', { nodeId: 'other', type: 'default' })]
  test.same(problems({ ipGroups: [ipGroup('a')], staticIps, ipRoutes }), [])
})

t.test('a floating IP follows the rules of addresses, and is not a static IP as well', async (test) => {
  const floatingIps = [
    { id: '1', groupId: 'a', ip: '11.0.0.5', enabled: true },
    { id: '2', groupId: 'a', ip: '10.0.0.5', enabled: false },
  ]
  test.same(problems({ ipGroups: [ipGroup('a')], floatingIps, staticIps: [staticIp('1', 'a', '10.0.0.5')] }), [
    'floatingIps 1 ip: floating IP 11.0.0.5: ip is not in 10.0.0.0/24, the network of the IP group group a',
    'floatingIps 2 ip: floating IP 10.0.0.5: ip is also a static IP',
  ])
})
