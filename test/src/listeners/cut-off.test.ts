import t from 'tap'
import { cutOffGuard } from '../../../src/listeners/cut-off.ts'
import type { IpGroup, IpRoute, StaticIp } from '../../../src/model/network.ts'
import type { Connection, NetworkInterface } from '../../../src/model/machine-facts.ts'
import { type Records, viewOf } from '../../fixtures/view.ts'

const CLIENT = '198.51.100.7'
const ADMIN_SIDE: Connection = { local: '192.0.2.10', destination: '0.0.0.0/0' }
const group: IpGroup = {
  id: 'g',
  name: 'lan',
  networkIp: '192.0.2.0',
  networkMask: 24,
  gateway: '',
  defaultGateway: false,
  assignedInterfaces: [{ nodeId: 'n', interfaceId: 'i' }],
}
const address = (ip: string): StaticIp => ({ id: ip, nodeId: 'n', groupId: 'g', ip, externalPingCheck: false })
const route = (more: Partial<IpRoute>): IpRoute => ({
  id: 'r',
  nodeId: 'n',
  name: 'r',
  type: 'static',
  destination: '',
  source: '',
  viaIp: '192.0.2.1',
  interface: '',
  metric: null,
  enabled: true,
  ...more,
})
const base = { ipGroups: [group], staticIps: [address('192.0.2.10')] } satisfies Records

/** The interface `id` with these addresses. */
const link = (id: string, ...addresses: readonly string[]): NetworkInterface => ({
  id,
  name: id,
  mac: '',
  mtu: 1500,
  state: 'up',
  addresses: addresses.map((text) => ({ ip: text.split('/')[0] ?? '', prefix: Number(text.split('/')[1]) })),
})
const LAN = [link('i', '192.0.2.10/24')]

const verdict = (
  before: Records,
  after: Records,
  client = CLIENT,
  connections: readonly Connection[] = [ADMIN_SIDE],
  interfaces: readonly NetworkInterface[] = LAN,
) =>
  cutOffGuard({
    nodeId: 'n',
    facts: { connections: async () => connections, interfaces: async () => interfaces },
    api: { port: 9443 },
  })(viewOf(before), viewOf(after), client)

t.test('the address to which the client is connected', async (test) => {
  test.match(await verdict(base, { ipGroups: [group] }), /192\.0\.2\.10, which you are connected to/)
  test.equal(await verdict({ ...base, staticIps: [address('192.0.2.11')] }, { ipGroups: [group] }), undefined)
})

t.test('the route to the client, and narrower ones', async (test) => {
  const with_ = (more: Partial<IpRoute>): Records => ({ ...base, ipRoutes: [route(more)] })
  const everything = with_({ type: 'default' })
  test.match(await verdict(everything, base), /would change \(0\.0\.0\.0\/0\)/)
  test.match(await verdict(base, with_({ destination: '198.51.100.0/24' })), /198\.51\.100\.0\/24/)
  test.match(await verdict(base, with_({ type: 'blackhole', viaIp: '', destination: CLIENT })), /would change/)
  test.equal(await verdict(base, with_({ destination: '203.0.113.0/24' })), undefined, 'another network')
  const near = [{ local: '192.0.2.10', destination: '198.51.100.0/24' }]
  test.equal(await verdict(everything, base, CLIENT, near), undefined, 'a narrower route is used')
})

t.test('a policy applies to its source', async (test) => {
  const policy = (more: Partial<IpRoute>): Records => ({ ...base, ipRoutes: [route({ type: 'policy', ...more })] })
  test.match(await verdict(base, policy({ source: '192.0.2.10' })), /would change/)
  test.equal(await verdict(base, policy({ source: '192.0.2.99' })), undefined)
  const near = [{ local: '192.0.2.10', destination: '198.51.100.0/24' }]
  test.equal(
    await verdict(base, policy({ source: '192.0.2.10' }), CLIENT, near),
    undefined,
    'connected networks take precedence',
  )
  const narrow = policy({ source: '192.0.2.10', destination: '198.51.0.0/16' })
  test.match(await verdict(base, narrow, CLIENT, near), /would change/, 'but not over a rule for a destination')
})

const NEAR = '192.0.2.200'
const CONNECTED: Connection = { local: '192.0.2.10', destination: '192.0.2.0/24' }
const near = (before: Records, after: Records, interfaces = LAN, connection = CONNECTED) =>
  verdict(before, after, NEAR, [connection], interfaces)

t.test('a mask that leaves the client outside of the connected network', async (test) => {
  test.match(
    await near(base, { ...base, ipGroups: [{ ...group, networkMask: 25 }] }),
    /would change \(192\.0\.2\.0\/24\)/,
  )
})

t.test('a group that loses its subnet, and with it the client', async (test) => {
  const bare = { ...group, networkIp: '', networkMask: 0 }
  test.match(await near(base, { ...base, ipGroups: [bare] }), /would change \(192\.0\.2\.0\/24\)/)
})

const elsewhere: IpGroup = { ...group, id: 'h', assignedInterfaces: [{ nodeId: 'n', interfaceId: 'j' }] }

t.test('a narrower network on another interface takes over the client', async (test) => {
  const narrow = { ...elsewhere, networkIp: '192.0.2.192', networkMask: 26 }
  const after = {
    ipGroups: [group, narrow],
    staticIps: [...base.staticIps, { ...address('192.0.2.193'), groupId: 'h' }],
  }
  test.match(await near(base, after), /would change \(192\.0\.2\.192\/26\)/)
})

t.test('another address is removed whose network carries the answers', async (test) => {
  const other = { ...elsewhere, networkIp: '203.0.113.0' }
  const before = {
    ipGroups: [group, other],
    staticIps: [...base.staticIps, { ...address('203.0.113.10'), groupId: 'h' }],
  }
  const links = [...LAN, link('j', '203.0.113.10/24')]
  const direct = { local: '192.0.2.10', destination: '203.0.113.0/24' }
  const change = /would change \(203\.0\.113\.0\/24\)/
  test.match(await verdict(before, base, '203.0.113.7', [direct], links), change)
  const routed = { ...ADMIN_SIDE, via: '203.0.113.1' }
  test.match(await verdict(before, base, CLIENT, [routed], links), change, 'the router is in it')
  test.equal(await verdict(before, base, CLIENT, [ADMIN_SIDE], links), undefined, 'it is not')
  const ours = [route({ type: 'default', viaIp: '203.0.113.1' })]
  const waiting = await verdict({ ...before, ipRoutes: ours }, { ...base, ipRoutes: ours }, CLIENT, [ADMIN_SIDE], links)
  test.match(waiting, /would change \(0\.0\.0\.0\/0\)/, 'then one of our routes is pending')
})

t.test('a network that stays connected on its interface is no change', async (test) => {
  const two = { ...base, staticIps: [address('192.0.2.10'), address('192.0.2.11')] }
  const both = [link('i', '192.0.2.10/24', '192.0.2.11/24')]
  test.equal(await near(base, two), undefined, 'a second address')
  test.equal(await near(two, base, both), undefined, 'and its removal')
  test.equal(
    await near({}, base, [link('i', '192.0.2.9/24')], { ...CONNECTED, local: '192.0.2.9' }),
    undefined,
    'the first of ours',
  )
  const away = await near(two, { ipGroups: [group] }, [link('i', '192.0.2.9/24', '192.0.2.10/24', '192.0.2.11/24')], {
    ...CONNECTED,
    local: '192.0.2.9',
  })
  test.equal(away, undefined, 'the last of ours beside a foreign one')
})

t.test('a client on this machine, or an unknown one, is never cut off', async (test) => {
  const after = { ipGroups: [group] }
  test.equal(await verdict(base, after, '127.0.0.1', [{ local: '127.0.0.1', destination: '127.0.0.0/8' }]), undefined)
  test.equal(await verdict(base, after, '192.0.2.10'), undefined)
  test.equal(await verdict(base, after, CLIENT, []), undefined)
})

t.test('a change of names looks up nothing', async (test) => {
  const guard = cutOffGuard({
    nodeId: 'n',
    facts: {
      connections: () => Promise.reject(new Error('asked')),
      interfaces: () => Promise.reject(new Error('asked')),
    },
    api: { port: 1 },
  })
  test.equal(await guard(viewOf(base), viewOf({ ...base, ipGroups: [{ ...group, name: 'x' }] }), CLIENT), undefined)
})
