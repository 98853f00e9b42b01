import t from 'tap'
import { problemIn } from '../../../src/base/errors.ts'
import {
  addressProblems,
  groupProblems,
  interfaceIdOf,
  interfaceIn,
  routeProblems,
  subnetOf,
} from '../../../src/rules/network.ts'
import { parseNetwork } from '../../../src/base/ip-network.ts'
import { ETH0, ETH1, stillFacts } from '../../fixtures/appliance.ts'
import { ipGroup } from '../drivers/iproute2/network-records.ts'

t.test('a group has a subnet when it has address and mask', async (test) => {
  test.equal(subnetOf({ networkIp: '', networkMask: 0 }), undefined)
  test.equal(subnetOf({ networkIp: '10.0.0.0', networkMask: 0 }), undefined)
  test.same(subnetOf({ networkIp: '10.0.0.0', networkMask: 8 }), parseNetwork('10.0.0.0/8'))
})

t.test('a gateway is not checked against an invalid subnet', async (test) => {
  const group = { networkIp: '10.0.0.1', networkMask: 24, gateway: '11.0.0.1', defaultGateway: false }
  test.same(groupProblems(group), [
    {
      field: 'networkIp',
      code: 'INVALID_BODY',
      message: 'is an address in the network 10.0.0.0/24, not its network address',
    },
  ])
})

t.test('point-to-point subnets have no reserved addresses', async (test) => {
  const group = ipGroup('a', { networkIp: '10.0.0.0', networkMask: 31, gateway: '10.0.0.1' })
  test.same(groupProblems(group), [])
  test.same(addressProblems('10.0.0.0', group), [])
  test.same(addressProblems('10.0.0.1', group), [problemIn('ip', 'is the gateway of its IP group')])
})

t.test('link-local and IPv4-mapped addresses are no static IPs, in any notation', async (test) => {
  const bare = ipGroup('a', { networkIp: '', networkMask: 0 })
  for (const text of ['fe80::1234', 'FEBF::1'])
    test.match(addressProblems(text, bare), [{ field: 'ip', message: /link-local/ }])
  for (const text of ['::ffff:10.0.0.5', '::FFFF:a00:5']) {
    test.match(addressProblems(text, bare), [{ field: 'ip', message: /write it as IPv4/ }])
  }
  for (const text of ['fec0::1', '::fffe:10.0.0.5', '2001:db8::ffff:a00:5']) test.same(addressProblems(text, bare), [])
})

t.test('a route is checked field by field', async (test) => {
  const empty = { destination: '', source: '', viaIp: '', interface: '' }
  test.same(routeProblems({ ...empty, type: 'blackhole', destination: '10.0.0.0/8' }), [])
  test.same(
    routeProblems({ ...empty, type: 'policy', destination: 'x' }).map(({ field }) => field),
    ['destination', 'source', 'viaIp'],
  )
})

t.test('an interface is found by id, by name, and by a subnet in which it has an address', async (test) => {
  const found = await stillFacts().interfaces()
  test.same(
    [interfaceIdOf('eth0', found), interfaceIdOf(ETH1, found), interfaceIdOf('x', found)],
    [ETH0, ETH1, undefined],
  )
  test.same([interfaceIdOf({ name: 'eth0' }, found), interfaceIdOf({ name: ETH0 }, found)], [ETH0, undefined])
  test.equal(interfaceIdOf({ name: ETH0 }, undefined), undefined, 'a name where interfaces are unknown')
  const inside = (text: string) => {
    const network = parseNetwork(text)
    return network === undefined ? undefined : interfaceIn(network, found)
  }
  test.same([inside('192.0.2.0/24'), inside('198.51.100.0/24')], [ETH0, undefined])
})
