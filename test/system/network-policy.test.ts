import { join } from 'node:path'
import t, { type Test } from 'tap'
import { desiredNetwork } from '../../src/drivers/iproute2/desired.ts'
import type { IpRoute } from '../../src/model/network.ts'
import { KernelNetwork } from '../../workers/host/network/kernel-network.ts'
import { readInterfaces } from '../../workers/probe/interfaces.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { ipGroup, ipRoute, NODE, staticIp } from '../src/drivers/iproute2/network-records.ts'
import { viewOf } from '../fixtures/view.ts'
import { cable, type Namespace, namespace, namespaceObstacle } from './network-namespace.ts'

/** Policy routing, from records to packets: two routers, each of which counts the echo requests that reach it. */

const obstacle = await namespaceObstacle()
const skip = obstacle ?? false
const TIMEOUT_MS = 120_000
t.setTimeout(1_800_000)

/** Number of received echo requests, of both families. */
async function echoes(of: Namespace): Promise<number> {
  const [names = '', values = ''] = (await of.output('cat', '/proc/net/snmp'))
    .split('\n')
    .filter((line) => line.startsWith('Icmp:'))
  const four = Number(values.split(' ')[names.split(' ').indexOf('InEchos')])
  const six = /Icmp6InEchos\s+(\d+)/.exec(await of.output('cat', '/proc/net/snmp6'))?.[1]
  return four + Number(six)
}

/** Both routers have every requested address behind them. */
async function bench(test: Test) {
  const [node, a, b] = [await namespace(test, 'node'), await namespace(test, 'a'), await namespace(test, 'b')]
  for (const one of [node, a, b]) {
    await one.output('sysctl', '-qw', 'net.ipv4.conf.all.rp_filter=0', 'net.ipv4.conf.default.rp_filter=0')
  }
  await cable(node, 'eth0', a, 'r0', 1)
  await cable(node, 'eth1', b, 'r0', 2)
  const remote = ['address add 198.51.100.1/32 dev lo', 'address add 198.51.100.2/32 dev lo']
  await a.ip('address add 10.0.0.1/24 dev r0', 'route add 10.1.0.0/24 via 10.0.0.5', ...remote)
  await b.ip('address add 10.1.0.1/24 dev r0', 'route add 10.0.0.0/24 via 10.1.0.5', ...remote)
  await a.ip6('address add 2001:db8:a::1/64 dev r0 nodad', 'address add 2001:db8:ffff::1/128 dev lo nodad')
  await b.ip6('address add 2001:db8:b::1/64 dev r0 nodad', 'address add 2001:db8:ffff::1/128 dev lo nodad')
  const [eth0, eth1] = await readInterfaces(node.run)
  const assigned = (found: typeof eth0) => [{ nodeId: NODE, interfaceId: found?.id ?? '' }]
  const [onA, onB] = [assigned(eth0), assigned(eth1)]
  const ipGroups = [
    ipGroup('a', { gateway: '10.0.0.1', defaultGateway: true, assignedInterfaces: onA }),
    ipGroup('b', { networkIp: '10.1.0.0', assignedInterfaces: onB }),
    ipGroup('a6', {
      networkIp: '2001:db8:a::',
      networkMask: 64,
      gateway: '2001:db8:a::1',
      defaultGateway: true,
      assignedInterfaces: onA,
    }),
    ipGroup('b6', { networkIp: '2001:db8:b::', networkMask: 64, assignedInterfaces: onB }),
  ]
  const staticIps = [
    staticIp('1', 'a', '10.0.0.5', { externalPingCheck: false }),
    staticIp('2', 'b', '10.1.0.5', { externalPingCheck: false }),
    staticIp('3', 'a6', '2001:db8:a::5', { externalPingCheck: false }),
    staticIp('4', 'b6', '2001:db8:b::5', { externalPingCheck: false }),
  ]
  const network = new KernelNetwork(join(temporaryFolder(test, 'policy'), 'network.json'), node.run)
  const make = async (...ipRoutes: readonly IpRoute[]) => {
    const desired = desiredNetwork(viewOf({ ipGroups, staticIps, ipRoutes }), NODE)
    test.match(await network.make(desired, 'settle', TIMEOUT_MS), { exitCode: 0, warnings: [] })
  }
  /** Returns the router of a ping, and whether it is answered. */
  const path = async (from: string, to: string) => {
    const before = [await echoes(a), await echoes(b)] as const
    const { exitCode } = await node.run(['ping', '-c1', '-W2', '-I', from, to], TIMEOUT_MS)
    const [viaA, viaB] = [(await echoes(a)) - before[0], (await echoes(b)) - before[1]]
    return `${viaA > 0 ? 'a' : ''}${viaB > 0 ? 'b' : ''} ${exitCode === 0 ? 'answered' : 'lost'}`
  }
  return { make, path }
}

t.test('packets of a source leave by its own gateway, everything else by the default', { skip }, async (test) => {
  const { make, path } = await bench(test)
  await make()
  test.equal(await path('10.0.0.5', '198.51.100.1'), 'a answered')
  test.equal((await path('10.1.0.5', '198.51.100.1')).split(' ')[0], 'a', 'without a policy')
  await make(
    ipRoute('4', { type: 'policy', source: '10.1.0.5', viaIp: '10.1.0.1' }),
    ipRoute('6', { type: 'policy', source: '2001:db8:b::/64', viaIp: '2001:db8:b::1' }),
  )
  test.equal(await path('10.0.0.5', '198.51.100.1'), 'a answered')
  test.equal(await path('10.1.0.5', '198.51.100.1'), 'b answered')
  test.equal(await path('2001:db8:a::5', '2001:db8:ffff::1'), 'a answered')
  test.equal(await path('2001:db8:b::5', '2001:db8:ffff::1'), 'b answered')
  test.equal(await path('10.1.0.5', '10.0.0.1'), 'a answered', 'a connected network is reached directly')
  await make()
  test.equal((await path('10.1.0.5', '198.51.100.1')).split(' ')[0], 'a', 'and back again')
})

t.test('a policy with a destination applies to it only, and a static route still wins', { skip }, async (test) => {
  const { make, path } = await bench(test)
  await make(ipRoute('1', { type: 'policy', source: '10.0.0.5', destination: '198.51.100.2', viaIp: '10.1.0.1' }))
  test.equal(await path('10.0.0.5', '198.51.100.1'), 'a answered')
  test.equal(await path('10.0.0.5', '198.51.100.2'), 'b answered')
  await make(
    ipRoute('1', { type: 'policy', source: '10.0.0.5', viaIp: '10.1.0.1' }),
    ipRoute('2', { destination: '198.51.100.2', viaIp: '10.0.0.1' }),
  )
  test.equal(await path('10.0.0.5', '198.51.100.1'), 'b answered')
  test.equal(await path('10.0.0.5', '198.51.100.2'), 'a answered')
})

t.test('a blackhole drops what others would deliver', { skip }, async (test) => {
  const { make, path } = await bench(test)
  await make(ipRoute('1', { type: 'blackhole', destination: '198.51.100.2' }))
  test.equal(await path('10.0.0.5', '198.51.100.1'), 'a answered')
  test.equal(await path('10.0.0.5', '198.51.100.2'), ' lost')
})
