import t from 'tap'
import { destKey, markKey, serviceKey } from '../../../src/ipvs/addresses.ts'
import { destinationKey, ipvsPlan, rowsOf, serviceOfKey } from '../../../src/ipvs/names.ts'
import { marksOf } from '../../../src/drivers/keepalived/marks.ts'
import { l4Backend, l4Frontend, realServer } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

const servers = [realServer('r1', { ip: '10.0.0.1', port: 8080 }), realServer('r2', { ip: '10.0.0.2', port: null })]
const backend = l4Backend('b', ['r1', 'r2'])

t.test('a frontend of one port is a service with its address', (t) => {
  const view = viewOf({ realServers: servers, l4Backends: [backend], l4Frontends: [l4Frontend('f', 'b')] })
  const plan = ipvsPlan(view, 7)
  const service = serviceKey('tcp', '192.0.2.10', 80)
  t.strictSame(plan.frontends, [{ id: 'f', isOutboundSeen: true, services: [service] }])
  const [first, second] = plan.backends[0]?.members ?? []
  t.strictSame(first, { ripId: 'r1', dests: [destinationKey(service, destKey('10.0.0.1', 8080))], share: 'some' })
  t.strictSame(second?.dests, [destinationKey(service, destKey('10.0.0.2', 80))], 'the port that the client used')
  t.equal(serviceOfKey(first?.dests[0] ?? ''), service)
  t.end()
})

t.test('several ports or persistence make it one of marks, each of which counts', (t) => {
  const frontends = [
    l4Frontend('many', 'b', { ports: '80,443' }),
    l4Frontend('keeps', 'p', { ip: '2001:db8::7', forwarding: 'gate' }),
  ]
  const view = viewOf({
    realServers: [...servers, realServer('r6', { ip: '2001:db8::1', port: 80, state: 'drained' })],
    l4Backends: [backend, l4Backend('p', ['r6'], { persistTimeout: 300 })],
    l4Frontends: frontends,
  })
  const marks = marksOf(view)
  const plan = ipvsPlan(view, 1)
  for (const { id, services } of plan.frontends) {
    const ip = frontends.find((one) => one.id === id)?.ip ?? ''
    t.strictSame(
      services,
      (marks.get(id) ?? []).map((mark) => markKey(ip, mark)),
    )
  }
  const kept = plan.backends.find(({ id }) => id === 'p')
  t.equal(kept?.isOutboundSeen, false)
  t.equal(kept?.members[0]?.share, 'none')
  t.equal(kept?.members[0]?.dests.length, marks.get('keeps')?.length, 'one in each generation')
  t.end()
})

t.test('a record that serves nowhere has no entries in the kernel', (t) => {
  const l4Frontends = [l4Frontend('off', 'b', { enabled: false }), l4Frontend('none', 'e', { ports: '81' })]
  const realServers = [realServer('r1', { ip: '10.0.0.1', state: 'halted' }), ...servers.slice(1)]
  const plan = ipvsPlan(viewOf({ realServers, l4Backends: [backend, l4Backend('e', [])], l4Frontends }), 1)
  t.strictSame(
    plan.frontends.map(({ services }) => services),
    [[], []],
  )
  t.match(plan.backends[0]?.members, [
    { ripId: 'r1', dests: [], share: 'halted' },
    { ripId: 'r2', dests: [] },
  ])
  t.end()
})

t.test('rows: frontends, backends, then the members of each backend', (t) => {
  const view = viewOf({ realServers: servers, l4Backends: [backend], l4Frontends: [l4Frontend('f', 'b')] })
  const rows = rowsOf(ipvsPlan(view, 1), (kind, proxy, server) => `${kind} ${proxy} ${server}`)
  t.strictSame(
    [...rows],
    [
      ['frontend f ', 0],
      ['backend b ', 1],
      ['server b r1', 2],
      ['server b r2', 3],
    ],
  )
  t.end()
})
