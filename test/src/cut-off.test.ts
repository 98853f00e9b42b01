import t from 'tap'
import { cutOffGuard } from '../../src/cut-off.ts'
import type { IpGroup, IpRoute, StaticIp } from '../../src/model/network.ts'
import type { Connection } from '../../src/model/machine-facts.ts'
import { type Records, viewOf } from '../view-fixture.ts'

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
const base: Records = { ipGroups: [group], staticIps: [address('192.0.2.10')] }

const verdict = (before: Records, after: Records, client = CLIENT, connections: readonly Connection[] = [ADMIN_SIDE]) =>
  cutOffGuard({ nodeId: 'n', facts: { connections: async () => connections }, api: { port: 9443 } })(
    viewOf(before),
    viewOf(after),
    client,
  )

t.test('the address the client is connected to', async (test) => {
  test.match(await verdict(base, { ipGroups: [group] }), /192\.0\.2\.10, which you are connected to/)
  test.equal(await verdict({ ...base, staticIps: [address('192.0.2.11')] }, { ipGroups: [group] }), undefined)
})

t.test('the route the client is reached by, and narrower ones', async (test) => {
  const with_ = (more: Partial<IpRoute>): Records => ({ ...base, ipRoutes: [route(more)] })
  const everything = with_({ type: 'default' })
  test.match(await verdict(everything, base), /would change \(0\.0\.0\.0\/0\)/)
  test.match(await verdict(base, with_({ destination: '198.51.100.0/24' })), /198\.51\.100\.0\/24/)
  test.match(await verdict(base, with_({ type: 'blackhole', viaIp: '', destination: CLIENT })), /would change/)
  test.equal(await verdict(base, with_({ destination: '203.0.113.0/24' })), undefined, 'somebody else’s network')
  const near = [{ local: '192.0.2.10', destination: '198.51.100.0/24' }]
  test.equal(await verdict(everything, base, CLIENT, near), undefined, 'a narrower route is used')
})

t.test('a policy counts for the source it is for', async (test) => {
  const policy = (more: Partial<IpRoute>): Records => ({ ...base, ipRoutes: [route({ type: 'policy', ...more })] })
  test.match(await verdict(base, policy({ source: '192.0.2.10' })), /would change/)
  test.equal(await verdict(base, policy({ source: '192.0.2.99' })), undefined)
  const near = [{ local: '192.0.2.10', destination: '198.51.100.0/24' }]
  test.equal(await verdict(base, policy({ source: '192.0.2.10' }), CLIENT, near), undefined, 'connected networks win')
  const narrow = policy({ source: '192.0.2.10', destination: '198.51.0.0/16' })
  test.match(await verdict(base, narrow, CLIENT, near), /would change/, 'but not over a rule for a destination')
})

t.test('a client on this machine is never cut off, nor one of whom nothing is known', async (test) => {
  const after = { ipGroups: [group] }
  test.equal(await verdict(base, after, '127.0.0.1', [{ local: '127.0.0.1', destination: '127.0.0.0/8' }]), undefined)
  test.equal(await verdict(base, after, '192.0.2.10'), undefined)
  test.equal(await verdict(base, after, CLIENT, []), undefined)
})

t.test('a change of names asks nobody', async (test) => {
  const guard = cutOffGuard({
    nodeId: 'n',
    facts: { connections: () => Promise.reject(new Error('asked')) },
    api: { port: 1 },
  })
  test.equal(await guard(viewOf(base), viewOf({ ...base, ipGroups: [{ ...group, name: 'x' }] }), CLIENT), undefined)
})
