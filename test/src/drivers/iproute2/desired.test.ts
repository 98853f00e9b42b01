import t from 'tap'
import { desiredNetwork } from '../../../../src/drivers/iproute2/desired.ts'
import { type Records, viewOf } from '../../../fixtures/view.ts'
import { ETH0, ETH1, ipGroup, ipRoute, NODE, staticIp } from './network-records.ts'

const desired = (records: Records) => desiredNetwork(viewOf(records), NODE)

t.test('an address is on the interface of its group with the prefix of its subnet', async (test) => {
  const { addresses } = desired({
    ipGroups: [ipGroup('lan', { gateway: '10.0.0.1' }), ipGroup('loose', { networkIp: '', networkMask: 0 })],
    staticIps: [
      staticIp('2', 'loose', '203.0.113.7'),
      staticIp('1', 'lan', '10.0.0.5', { externalPingCheck: false }),
      staticIp('3', 'loose', '2001:DB8::7'),
    ],
  })
  test.same(addresses, [
    { ip: '10.0.0.5', prefix: 24, interfaceId: ETH0, pingCheck: false, gateway: '10.0.0.1' },
    { ip: '203.0.113.7', prefix: 32, interfaceId: ETH0, pingCheck: true, gateway: undefined },
    { ip: '2001:db8::7', prefix: 128, interfaceId: ETH0, pingCheck: true, gateway: undefined },
  ])
})

t.test('records of another node, of a group without an interface here, or disabled are left out', async (test) => {
  const elsewhere = [{ nodeId: 'other', interfaceId: ETH1 }]
  test.same(
    desired({
      ipGroups: [
        ipGroup('a', { assignedInterfaces: elsewhere, gateway: '10.0.0.1', defaultGateway: true }),
        ipGroup('b'),
      ],
      staticIps: [staticIp('1', 'a', '10.0.0.5'), staticIp('2', 'b', '10.0.0.6', { nodeId: 'other' })],
      ipRoutes: [
        ipRoute('1', { type: 'blackhole', destination: '10.9.0.0/16', enabled: false }),
        ipRoute('2', { type: 'blackhole', destination: '10.9.0.0/16', nodeId: 'other' }),
        ipRoute('3', { type: 'policy', source: '10.0.0.5', viaIp: '10.0.0.1', enabled: false }),
      ],
    }),
    {
      addresses: [],
      routes: [],
      rules: [],
      leftOut: ['static IP 10.0.0.5 is not added: its IP group group a has no interface on this node'],
    },
  )
})

t.test('default gateways, default, static and blackhole routes are routes of the main table', async (test) => {
  const { routes, rules } = desired({
    ipGroups: [
      ipGroup('a', { gateway: '10.0.0.1', defaultGateway: true }),
      ipGroup('b', { gateway: '10.0.0.2' }),
      ipGroup('c', { networkIp: '2001:db8::', networkMask: 64, gateway: '2001:db8::1', defaultGateway: true }),
    ],
    ipRoutes: [
      ipRoute('1', { type: 'default', viaIp: '2001:db8::2', metric: 5 }),
      ipRoute('2', { type: 'default', interface: ETH1, metric: 0 }),
      ipRoute('3', { destination: '198.51.100.7', viaIp: '10.0.0.3', interface: ETH0 }),
      ipRoute('4', { type: 'blackhole', destination: '2001:DB8:9::/48' }),
    ],
  })
  const route = { type: 'unicast', metric: undefined, via: undefined, interfaceId: undefined, table: 254 }
  test.same(routes, [
    { ...route, destination: '0.0.0.0/0', via: '10.0.0.1', interfaceId: ETH0 },
    { ...route, destination: '::/0', via: '2001:db8::1', interfaceId: ETH0 },
    { ...route, destination: '::/0', via: '2001:db8::2', metric: 5 },
    { ...route, destination: '0.0.0.0/0', interfaceId: ETH1, metric: 0 },
    { ...route, destination: '198.51.100.7/32', via: '10.0.0.3', interfaceId: ETH0 },
    { ...route, type: 'blackhole', destination: '2001:db8:9::/48' },
  ])
  test.same(rules, [])
})

t.test(
  'a policy route has its own table, and leaves known networks to the main table unless it names one',
  async (test) => {
    const { routes, rules } = desired({
      ipRoutes: [
        ipRoute('1', { type: 'policy', source: '10.0.0.0/24', viaIp: '10.0.0.1' }),
        ipRoute('2', { type: 'policy', source: '10.0.0.0/24', destination: '198.51.100.0/24', viaIp: '10.0.0.2' }),
      ],
    })
    const [all, one] = routes.map(({ table }) => table)
    test.not(all, one)
    test.match(routes, [{ destination: '0.0.0.0/0' }, { destination: '198.51.100.0/24' }])
    test.same(rules, [
      { priority: 10_001, from: '10.0.0.0/24', to: '198.51.100.0/24', table: one, suppressPrefixLength: undefined },
      { priority: 10_002, from: '10.0.0.0/24', to: undefined, table: 254, suppressPrefixLength: 0 },
      { priority: 10_003, from: '10.0.0.0/24', to: undefined, table: all, suppressPrefixLength: undefined },
    ])
  },
)

t.test('the narrower source comes first, then the narrower destination', async (test) => {
  const policy = (id: string, source: string, destination = '') =>
    ipRoute(id, { type: 'policy', source, destination, interface: ETH0 })
  const { rules } = desired({
    ipRoutes: [
      policy('1', '0.0.0.0/0', '10.9.0.0/16'),
      policy('2', '10.0.0.0/8', '10.9.9.0/24'),
      policy('3', '10.0.0.5'),
      policy('4', '10.0.0.0/8', '10.9.0.0/16'),
      policy('5', '2001:db8::/32'),
      policy('6', '11.0.0.0/8', '10.9.0.0/16'),
    ],
  })
  const order = rules
    .filter(({ table }) => table !== 254)
    .map(({ priority, from, to }) => `${priority} ${from} ${to ?? ''}`)
  const priorities = rules.map(({ priority }) => priority)
  const priorityOf = (text: string) => Number(order.find((line) => line.slice(6) === text)?.slice(0, 5))
  test.equal(priorityOf('0.0.0.0/0 10.9.0.0/16'), Math.max(...priorities))
  test.ok(priorityOf('10.0.0.5/32 ') < priorityOf('10.0.0.0/8 10.9.9.0/24'))
  test.ok(priorityOf('10.0.0.0/8 10.9.9.0/24') < priorityOf('10.0.0.0/8 10.9.0.0/16'))
  test.equal(priorityOf('10.0.0.0/8 10.9.0.0/16'), priorityOf('11.0.0.0/8 10.9.0.0/16'), 'they never compete')
})

t.test('routes for the same packets share a table, and the order of records does not matter', async (test) => {
  const ipRoutes = [
    ipRoute('1', { type: 'policy', source: '10.0.0.5', viaIp: '10.0.0.1' }),
    ipRoute('2', { type: 'policy', source: '10.0.0.5/32', viaIp: '10.0.0.2', metric: 10 }),
  ]
  const ipGroups = [ipGroup('a'), ipGroup('b')]
  const staticIps = [staticIp('1', 'a', '10.0.0.5'), staticIp('2', 'b', '10.0.0.6')]
  const { routes, rules, addresses } = desired({ ipRoutes, ipGroups, staticIps })
  test.equal(new Set(routes.map(({ table }) => table)).size, 1)
  test.equal(rules.length, 2)
  const turned = { ipRoutes: ipRoutes.toReversed(), ipGroups: ipGroups.toReversed(), staticIps: staticIps.toReversed() }
  test.same(desired(turned), { routes, rules, addresses })
})

t.test('enabled floating IPs come after the addresses of the node; an impossible one is reported', async (test) => {
  const floatingIps = [
    { id: '1', groupId: 'a', ip: '10.0.0.9', enabled: true },
    { id: '2', groupId: 'a', ip: '10.0.0.8', enabled: false },
    { id: '3', groupId: 'b', ip: '10.0.0.7', enabled: true },
  ]
  const ipGroups = [ipGroup('a'), ipGroup('b', { assignedInterfaces: [] })]
  const { addresses, leftOut } = desired({ ipGroups, floatingIps, staticIps: [staticIp('9', 'a', '10.0.0.5')] })
  test.same(
    addresses.map(({ ip }) => ip),
    ['10.0.0.5', '10.0.0.9'],
  )
  test.same(leftOut, ['floating IP 10.0.0.7 is not added: its IP group group b has no interface on this node'])
})
