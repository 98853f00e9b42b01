import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { desiredNetwork } from '../../src/drivers/iproute2/desired.ts'
import type { DesiredAddress, DesiredNetwork, DesiredRoute, NetworkPhase } from '../../src/drivers/host.ts'
import { KernelNetwork } from '../../workers/host/network/kernel-network.ts'
import { readInterfaces } from '../../workers/probe/interfaces.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { viewOf } from '../fixtures/view.ts'
import { cable, type Namespace, namespace, namespaceObstacle } from './network-namespace.ts'

/** The kernel's own addresses, routes and rules, in namespaces. */

const obstacle = await namespaceObstacle()
const skip = obstacle ?? false
const TIMEOUT_MS = 120_000
t.setTimeout(1_800_000)

export const NOTHING: DesiredNetwork = { addresses: [], routes: [], rules: [] }

/** A node with the interface eth0, whose cable ends at a router with 10.0.0.1/24 and 2001:db8::1/64. */
async function bench(test: Test) {
  const [node, router] = [await namespace(test, 'node'), await namespace(test, 'router')]
  const { macB } = await cable(node, 'eth0', router, 'r0', 1)
  await router.ip('address add 10.0.0.1/24 dev r0')
  await router.ip6('address add 2001:db8::1/64 dev r0 nodad')
  const folder = temporaryFolder(test, 'network')
  const file = join(folder, 'network.json')
  const [eth0] = await readInterfaces(node.run)
  if (eth0 === undefined) throw new Error('no interface')
  const network = new KernelNetwork(file, node.run)
  const make = (desired: Partial<DesiredNetwork>, phase: NetworkPhase = 'settle') =>
    network.make({ ...NOTHING, ...desired }, phase, TIMEOUT_MS)
  const on = (ip: string, prefix: number, more: Partial<DesiredAddress> = {}): DesiredAddress => ({
    ip,
    prefix,
    interfaceId: eth0.id,
    pingCheck: false,
    gateway: undefined,
    ...more,
  })
  const to = (destination: string, more: Partial<DesiredRoute> = {}): DesiredRoute => ({
    type: 'unicast',
    destination,
    via: undefined,
    interfaceId: undefined,
    metric: undefined,
    table: 254,
    ...more,
  })
  return { node, router, file, network, make, on, to, eth0: eth0.id, routerMac: macB }
}

const shown = async (of: Namespace) => ({
  addresses: await of.output('ip', '-o', 'address', 'show'),
  routes: [await of.output('ip', '-4', 'route', 'show'), await of.output('ip', '-6', 'route', 'show')],
  rules: [await of.output('ip', '-4', 'rule', 'show'), await of.output('ip', '-6', 'rule', 'show')],
})
const addresses = async (of: Namespace, link = 'eth0') =>
  [...(await of.output('ip', '-o', 'address', 'show', link)).matchAll(/inet6? (\S+) .*scope global/g)].map(
    ([, ip]) => ip,
  )
const routes = async (of: Namespace, ...words: readonly string[]) =>
  (await of.output('ip', ...words, 'route', 'show')).split('\n').map((line) => line.trim())

t.test('addresses of both families are added, changed and removed', { skip }, async (test) => {
  const { node, make, on } = await bench(test)
  const before = await shown(node)
  test.match(await make({ addresses: [on('10.0.0.5', 24), on('2001:db8::5', 64)] }), { exitCode: 0, warnings: [] })
  test.same(await addresses(node), ['10.0.0.5/24', '2001:db8::5/64'])
  await node.output('ping', '-c1', '-W2', '-I', '10.0.0.5', '10.0.0.1')
  await node.output('ping', '-c1', '-W2', '-I', '2001:db8::5', '2001:db8::1')
  test.match(await make({ addresses: [on('10.0.0.6', 24), on('2001:db8::5', 128)] }), { exitCode: 0 })
  test.same(await addresses(node), ['10.0.0.6/24', '2001:db8::5/128'])
  test.match(await make({}), { exitCode: 0 })
  test.same(await shown(node), before)
})

t.test('a network in its wanted state is left alone', { skip }, async (test) => {
  const { node, make, on, to, file } = await bench(test)
  const desired = { addresses: [on('10.0.0.5', 24)], routes: [to('0.0.0.0/0', { via: '10.0.0.1' })] }
  await make(desired)
  const [before, kept] = [await shown(node), readFileSync(file, 'utf8')]
  const events = await eventsDuring(node, () => make(desired))
  test.equal(events, '')
  test.same([await shown(node), readFileSync(file, 'utf8')], [before, kept])
})

/** Returns the changes that the kernel reports meanwhile. */
async function eventsDuring(node: Namespace, work: () => Promise<unknown>): Promise<string> {
  const monitor = node.run(['timeout', '1.5', 'ip', 'monitor', 'address', 'route', 'rule'], TIMEOUT_MS)
  await work()
  return (await monitor).output
}

t.test('`add` removes nothing, `settle` does', { skip }, async (test) => {
  const { node, make, on, to } = await bench(test)
  const old = { addresses: [on('10.0.0.5', 24)], routes: [to('10.8.0.0/16', { via: '10.0.0.1' })] }
  const next = { addresses: [on('10.0.0.6', 24)], routes: [to('10.9.0.0/16', { via: '10.0.0.1' })] }
  await make(old)
  test.match(await make(next, 'add'), { exitCode: 0 })
  test.same(await addresses(node), ['10.0.0.5/24', '10.0.0.6/24'])
  const both = (await routes(node)).filter((line) => line.includes('via'))
  test.same(both, [
    '10.8.0.0/16 via 10.0.0.1 dev eth0 proto 70 onlink',
    '10.9.0.0/16 via 10.0.0.1 dev eth0 proto 70 onlink',
  ])
  test.match(await make(next), { exitCode: 0 })
  test.same(await addresses(node), ['10.0.0.6/24'])
  test.same(
    (await routes(node)).filter((line) => line.includes('via')),
    ['10.9.0.0/16 via 10.0.0.1 dev eth0 proto 70 onlink'],
  )
})

t.test('default, static and blackhole routes, with metrics, in both families', { skip }, async (test) => {
  const { node, make, on, to, eth0 } = await bench(test)
  const result = await make({
    addresses: [on('10.0.0.5', 24), on('2001:db8::5', 64)],
    routes: [
      to('0.0.0.0/0', { via: '10.0.0.1' }),
      to('10.8.0.0/16', { interfaceId: eth0, metric: 20 }),
      to('10.9.0.0/16', { type: 'blackhole' }),
      to('::/0', { via: '2001:db8::1', metric: 7 }),
      to('2001:db8:9::/48', { type: 'blackhole' }),
    ],
  })
  test.match(result, { exitCode: 0, warnings: [] })
  const ours = (lines: readonly string[]) => lines.filter((line) => line.includes('proto 70'))
  test.same(ours(await routes(node)), [
    'default via 10.0.0.1 dev eth0 proto 70 onlink',
    '10.8.0.0/16 dev eth0 proto 70 scope link metric 20',
    'blackhole 10.9.0.0/16 proto 70',
  ])
  test.same(ours(await routes(node, '-6')), [
    'blackhole 2001:db8:9::/48 dev lo proto 70 metric 1024 pref medium',
    'default via 2001:db8::1 dev eth0 proto 70 metric 7 onlink pref medium',
  ])
  const blackhole = await node.run(['ping', '-c1', '-W1', '10.9.0.1'], TIMEOUT_MS)
  test.match(blackhole.output, /Invalid argument/)
})

t.test('routes and addresses of others stay, also beside ours', { skip }, async (test) => {
  const { node, make, on, to } = await bench(test)
  await node.ip(
    'address add 10.0.0.9/24 dev eth0',
    'address add 10.0.0.8/24 dev eth0',
    'route add 10.7.0.0/16 via 10.0.0.1',
    'route add default via 10.0.0.1 metric 50',
    'rule add from 10.0.0.9 table 200 priority 150',
  )
  await node.ip6('address add 2001:db8::9/64 dev eth0 nodad', 'route add 2001:db8:7::/48 via 2001:db8::1')
  const before = await shown(node)
  const addressesOfOthers = ['10.0.0.9/24', '10.0.0.8/24', '2001:db8::9/64']
  await make({
    // Two of them exist already: wanted or not, they are not ours.
    addresses: [on('10.0.0.9', 24), on('10.0.0.5', 24), on('2001:db8::9', 64)],
    routes: [to('0.0.0.0/0', { via: '10.0.0.1' }), to('10.9.0.0/16', { type: 'blackhole' })],
    rules: [{ priority: 10_000, from: '10.0.0.5/32', to: undefined, table: 254, suppressPrefixLength: 0 }],
  })
  test.same(await addresses(node), ['10.0.0.9/24', '10.0.0.8/24', '10.0.0.5/24', '2001:db8::9/64'])
  await make({})
  test.same(await addresses(node), addressesOfOthers)
  test.same(await shown(node), before)
})

t.test('the first address of a subnet is removed without the others', { skip }, async (test) => {
  const { node, make, on } = await bench(test)
  await make({ addresses: [on('10.0.0.5', 24), on('10.0.0.6', 24), on('10.0.0.7', 24)] })
  await node.ip('address add 10.0.0.99/24 dev eth0', 'route add 10.7.0.0/16 via 10.0.0.1 src 10.0.0.99')
  await make({ addresses: [on('10.0.0.6', 24), on('10.0.0.7', 24)] })
  test.same(await addresses(node), ['10.0.0.6/24', '10.0.0.7/24', '10.0.0.99/24'])
  test.match(await routes(node), ['10.0.0.0/24 dev eth0 proto kernel scope link src 10.0.0.6', /src 10.0.0.99/])
  const promotes = await node.output('sysctl', '-n', 'net.ipv4.conf.eth0.promote_secondaries')
  test.equal(promotes, '0', 'and the setting is as before')
  await make({})
  test.same(await addresses(node), ['10.0.0.99/24'])
})

t.test('addresses are in the order of the configuration, whatever came first', { skip }, async (test) => {
  const { node, make, on } = await bench(test)
  await make({ addresses: [on('10.0.0.6', 24), on('10.0.0.7', 24), on('2001:db8::6', 64)] })
  const ordered = ['10.0.0.5', '10.0.0.6', '10.0.0.7'].map((ip) => on(ip, 24))
  await make({ addresses: [...ordered, on('2001:db8::5', 64), on('2001:db8::6', 64)] })
  test.same(await addresses(node), ['10.0.0.5/24', '10.0.0.6/24', '10.0.0.7/24', '2001:db8::6/64', '2001:db8::5/64'])
})

t.test('reordering does not lose routes of others that send from an address of ours', { skip }, async (test) => {
  const { node, make, on } = await bench(test)
  const [early, pinned, late] = ['10.0.0.51', '10.0.0.52', '10.0.0.53'].map((ip) => on(ip, 24))
  if (early === undefined || pinned === undefined || late === undefined) throw new Error('no addresses')
  const six = [on('2001:db8::51', 64), on('2001:db8::52', 64)]
  await make({ addresses: [pinned, late, ...six.slice(1)] })
  await node.ip(
    'route add default via 10.0.0.1 src 10.0.0.52 metric 50',
    'route add 10.66.0.0/16 via 10.0.0.1 src 10.0.0.52',
    'route add 10.67.0.0/16 via 10.0.0.1 src 10.0.0.52 table 200',
  )
  await node.ip6('route add 2001:db8:66::/48 via 2001:db8::1 src 2001:db8::52')
  const others = async () => [
    ...(await routes(node, '-4')).filter((line) => line.includes('src 10.0.0.52') && line.includes('via')),
    await node.output('ip', 'route', 'show', 'table', '200'),
    ...(await routes(node, '-6')).filter((line) => line.includes('2001:db8:66')),
  ]
  const before = await others()
  test.equal(before.length, 4)
  test.match(await make({ addresses: [early, pinned, late, ...six] }), { exitCode: 0, warnings: [] })
  test.same(await others(), before)
  test.same(new Set(await addresses(node)).size, 5, 'and all addresses are there')
  test.match(await make({ addresses: [pinned, ...six.slice(1)] }), { exitCode: 0 })
  test.same(await others(), before, 'nor does the removal of the first one')
})

t.test('a link-local address is removed like any other', { skip }, async (test) => {
  const { node, make, on } = await bench(test)
  await make({ addresses: [on('10.0.0.5', 24)] })
  const before = await shown(node)
  const { undo } = await make({ addresses: [on('10.0.0.5', 24), on('fe80::1234', 128)] }, 'add')
  test.match(await undo?.(), { exitCode: 0 })
  test.same(await shown(node), before)
  const ways = [on('10.0.0.5', 24), on('::ffff:10.0.0.77', 128)]
  const mapped = await make({ addresses: ways }, 'add')
  await mapped.undo?.()
  test.same(await shown(node), before, 'also when the kernel shows it differently')
})

t.test('a foreign route is replaced and restored', { skip }, async (test) => {
  const { node, make, on, to } = await bench(test)
  await node.ip(
    'address add 10.0.0.9/24 dev eth0',
    'route add default via 10.0.0.1 dev eth0 proto dhcp src 10.0.0.9 mtu 1400',
  )
  await node.ip6('address add 2001:db8::9/64 dev eth0 nodad', 'route add default via 2001:db8::1 dev eth0 proto static')
  const before = await shown(node)
  const desired = {
    addresses: [on('10.0.0.5', 24)],
    routes: [
      to('0.0.0.0/0', { via: '10.0.0.2', interfaceId: on('', 0).interfaceId }),
      to('::/0', { via: '2001:db8::2' }),
    ],
  }
  test.match(await make(desired), { exitCode: 0, warnings: [] })
  test.equal((await routes(node))[0], 'default via 10.0.0.2 dev eth0 proto 70 onlink')
  test.match(await make({}), { exitCode: 0, warnings: [] })
  test.same(await shown(node), before)
})

t.test('routes of others stay when the last address of their interface is removed', { skip }, async (test) => {
  const { node, make, on } = await bench(test)
  await node.ip('route add 10.7.0.0/16 dev eth0 proto static', 'route add default dev eth0 metric 9')
  const before = await shown(node)
  await make({ addresses: [on('10.0.0.5', 24), on('10.0.0.6', 24)] })
  await make({})
  test.same(await shown(node), before)
})

t.test('a route that cannot be restored is named, and ours is removed all the same', { skip }, async (test) => {
  const { node, make, to, router } = await bench(test)
  await cable(node, 'eth1', router, 'r1', 2)
  await node.ip('address add 10.1.0.9/24 dev eth1', 'route add default via 10.1.0.1 dev eth1')
  const [eth0] = await readInterfaces(node.run)
  await make({ routes: [to('0.0.0.0/0', { via: '10.0.0.1', interfaceId: eth0?.id })] })
  await node.ip('link del eth1')
  const result = await make({})
  test.match(result, { exitCode: 0, warnings: [/could not be restored/] })
  test.same(
    (await routes(node)).filter((line) => line.startsWith('default')),
    [],
  )
})

t.test('undo reverts exactly what was done', { skip }, async (test) => {
  const { node, make, on, to, file } = await bench(test)
  await node.ip('address add 10.0.0.9/24 dev eth0', 'route add default via 10.0.0.1 proto dhcp')
  await make({ addresses: [on('10.0.0.5', 24), on('10.0.0.6', 24)], routes: [to('10.8.0.0/16', { via: '10.0.0.1' })] })
  const [before, kept] = [await shown(node), readFileSync(file, 'utf8')]
  const next = {
    addresses: [on('10.0.0.6', 24), on('10.0.0.7', 24)],
    routes: [to('0.0.0.0/0', { via: '10.0.0.1' })],
    rules: [{ priority: 10_000, from: '10.0.0.7/32', to: undefined, table: 254, suppressPrefixLength: undefined }],
  }
  for (const phase of ['add', 'settle'] as const) {
    const { undo } = await make(next, phase)
    test.not(JSON.stringify(await shown(node)), JSON.stringify(before))
    test.match(await undo?.(), { exitCode: 0 }, phase)
    test.same(await shown(node), before, phase)
    test.same(JSON.parse(readFileSync(file, 'utf8')), JSON.parse(kept), phase)
  }
})

t.test(
  'an unknown interface and a next hop out of reach are warnings; an interface that is down is brought up',
  { skip },
  async (test) => {
    const { node, make, on, to, router } = await bench(test)
    await cable(node, 'eth1', router, 'r1', 2)
    await node.ip('link set eth1 down')
    const eth1 = (await readInterfaces(node.run)).find(({ name }) => name === 'eth1')
    const result = await make({
      addresses: [
        on('10.0.0.5', 24),
        on('10.3.0.5', 24, { interfaceId: 'gone' }),
        on('10.1.0.5', 24, { interfaceId: eth1?.id ?? '' }),
      ],
      routes: [to('10.8.0.0/16', { via: '10.77.0.1' }), to('10.9.0.0/16', { via: '10.1.0.1', interfaceId: eth1?.id })],
    })
    test.equal(result.exitCode, 0)
    test.same(result.warnings, [
      'this node has no interface gone: 10.3.0.5 waits for it',
      'the route to 10.8.0.0/16 waits: its next hop 10.77.0.1 is in no network of this node',
    ])
    test.same(await addresses(node), ['10.0.0.5/24'])
    test.same(await addresses(node, 'eth1'), ['10.1.0.5/24'])
    test.match(await node.output('ip', '-br', 'link', 'show', 'eth1'), /\bUP\b/)
    await result.undo?.()
    test.match(await node.output('ip', '-br', 'link', 'show', 'eth1'), /\bDOWN\b/, 'and undo takes it down again')
  },
)

t.test('a warning is given once, with everything that is left out', { skip }, async (test) => {
  const { make, on, to, file } = await bench(test)
  const desired = {
    addresses: [on('10.0.0.5', 24)],
    routes: [to('10.8.0.0/16', { via: '10.77.0.1' })],
    leftOut: ['static IP 10.3.0.5 is not made'],
  }
  test.same((await make(desired, 'add')).warnings, [])
  test.match((await make(desired)).warnings, ['static IP 10.3.0.5 is not made', /the route to 10.8.0.0\/16 waits/])
  test.notMatch(readFileSync(file, 'utf8'), 'leftOut')
  test.same((await make({ leftOut: ['x'] })).warnings, ['x'])
})

t.test('a route never replaces a connected network, whichever came first', { skip }, async (test) => {
  const { node, make, on, to, eth0 } = await bench(test)
  const [ours, ours6] = [on('10.0.0.5', 24), on('2001:db8::5', 64)]
  const ways = [
    to('10.0.0.0/24', { via: '10.1.0.1', interfaceId: eth0 }),
    to('2001:db8::/64', { via: '2001:db8:1::1', interfaceId: eth0, metric: 256 }),
  ]
  const other = on('10.1.0.5', 24)
  const wayTo = async (family: string, network: string) => node.output('ip', family, 'route', 'show', 'exact', network)
  await make({ addresses: [ours, ours6, other] })
  const connected = [await wayTo('-4', '10.0.0.0/24'), await wayTo('-6', '2001:db8::/64')]
  test.match(connected, [/^10.0.0.0\/24 dev eth0 proto kernel/, /^2001:db8::\/64 dev eth0 proto kernel/])
  const waiting = ['10.0.0.0/24', '2001:db8::/64'].map(
    (network) => `the route to ${network} waits: that network is connected`,
  )
  for (const way of ['addresses first', 'at once', 'routes first'] as const) {
    if (way !== 'addresses first') await make({ addresses: [other], routes: way === 'routes first' ? ways : [] })
    test.equal((await wayTo('-4', '10.0.0.0/24')).includes('proto 70'), way === 'routes first')
    const desired = { addresses: [ours, ours6, other], routes: ways }
    test.match(await make(desired, 'add'), { exitCode: 0 })
    test.same((await make(desired)).warnings, waiting, way)
    test.same([await wayTo('-4', '10.0.0.0/24'), await wayTo('-6', '2001:db8::/64')], connected, way)
  }
  await make({ addresses: [other], routes: ways })
  test.match(
    await wayTo('-4', '10.0.0.0/24'),
    /^10.0.0.0\/24 via 10.1.0.1 dev eth0 proto 70 onlink\s*$/,
    'when its address is removed',
  )
  await node.ip('address add 10.0.0.9/24 dev eth0')
  await make({ addresses: [other], routes: ways })
  test.match(await wayTo('-4', '10.0.0.0/24'), /^10.0.0.0\/24 dev eth0 proto kernel scope link src 10.0.0.9\s*$/)
})

t.test(
  'an address that another machine has is refused, with address and MAC, before anything changes',
  { skip },
  async (test) => {
    const { node, make, on, router, routerMac } = await bench(test)
    await router.ip('address add 10.0.0.5/24 dev r0')
    await router.ip6('address add 2001:db8::5/64 dev r0 nodad')
    const before = await shown(node)
    for (const [ip, prefix] of [
      ['10.0.0.5', 24],
      ['2001:db8::5', 64],
    ] as const) {
      const free = on(ip.replace(/5$/, '66'), prefix, { pingCheck: true })
      const result = await make({ addresses: [free, on(ip, prefix, { pingCheck: true })] }, 'add')
      test.match(result, { exitCode: 1, undo: undefined }, ip)
      test.equal(result.output, `${ip} on eth0 is taken: the machine with MAC ${routerMac} has it`)
      test.same(await shown(node), before)
    }
    test.match(await make({ addresses: [on('10.0.0.5', 24)] }), { exitCode: 0 }, 'without the check it is added')
  },
)

t.test('a gateway that answers is not reported, one that does not is a warning', { skip }, async (test) => {
  const { make, on } = await bench(test)
  const live = [
    on('10.0.0.5', 24, { pingCheck: true, gateway: '10.0.0.1' }),
    on('2001:db8::5', 64, { pingCheck: true, gateway: '2001:db8::1' }),
  ]
  const dead = on('10.0.0.6', 24, { pingCheck: true, gateway: '10.0.0.254' })
  const quiet = on('10.0.0.7', 24, { gateway: '10.0.0.254' })
  test.match(await make({ addresses: live }, 'add'), { exitCode: 0, warnings: [] })
  test.match(await make({ addresses: live }), { exitCode: 0, warnings: [] })
  const all = { addresses: [...live, dead, quiet] }
  await make(all, 'add')
  const { warnings, exitCode } = await make(all)
  test.equal(exitCode, 0)
  test.equal(warnings.length, 1)
  test.match(warnings[0], /^10.0.0.6 cannot reach its gateway 10.0.0.254: /)
  test.same((await make(all)).warnings, [], 'and only of an address that is new')
})

t.test('a floating IP is on the interface of its IP group while it is enabled', { skip }, async (test) => {
  const { node, make, eth0 } = await bench(test)
  const settings = { networkIp: '10.0.0.0', networkMask: 24, gateway: '', defaultGateway: false }
  const group = { id: 'g', name: 'lan', ...settings, assignedInterfaces: [{ nodeId: 'n', interfaceId: eth0 }] }
  const desired = (enabled: boolean) =>
    desiredNetwork(
      viewOf({ ipGroups: [group], floatingIps: [{ id: 'f', groupId: 'g', ip: '10.0.0.9', enabled }] }),
      'n',
    )
  test.match(await make(desired(true)), { exitCode: 0, warnings: [] })
  test.same(await addresses(node), ['10.0.0.9/24'])
  await node.output('ping', '-c1', '-W2', '-I', '10.0.0.9', '10.0.0.1')
  test.match(await make(desired(false)), { exitCode: 0 })
  test.same(await addresses(node), [])
})

t.test('a node that never had a network here is not even inspected', { skip }, async (test) => {
  const refuse = async () => {
    throw new Error('nothing is to be run')
  }
  const network = new KernelNetwork(join(temporaryFolder(test, 'network'), 'network.json'), refuse)
  test.same(await network.make(NOTHING, 'settle', TIMEOUT_MS), {
    exitCode: 0,
    output: '',
    undo: undefined,
    warnings: [],
  })
})

t.test('an operation that iproute2 cannot do is a failure with its message', { skip }, async (test) => {
  const { make, on, to, eth0 } = await bench(test)
  const result = await make({
    addresses: [on('10.0.0.5', 24)],
    routes: [to('10.8.0.0/16', { via: '10.0.0.5', interfaceId: eth0 })],
  })
  test.match(result, { exitCode: 1, output: /does not accept: route replace 10.8.0.0\/16 via 10.0.0.5/ })
  test.match(result.output, /invalid gateway/i)
  test.match(await result.undo?.(), { exitCode: 0 })
})
