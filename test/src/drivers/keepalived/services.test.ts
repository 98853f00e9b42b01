import t from 'tap'
import { servedFrontends } from '../../../../src/drivers/keepalived/services.ts'
import type { L4Backend, L4Frontend } from '../../../../src/model/layer4.ts'
import { l4Backend, l4Frontend, realServer } from '../../../fixtures/config.ts'
import { viewOf } from '../../../fixtures/view.ts'

const reals = [
  realServer('own', { ip: '10.0.0.1', port: 8080, weight: 9 }),
  realServer('clients', { ip: '10.0.0.2', port: null }),
  realServer('drained', { ip: '10.0.0.3', port: 80, state: 'drained' }),
  realServer('halted', { ip: '10.0.0.4', port: 80, state: 'halted' }),
]
function served(frontend: Partial<L4Frontend>, backend: Partial<L4Backend>, ripIds = ['own', 'clients']) {
  const [one] = servedFrontends(
    viewOf({
      realServers: reals,
      l4Backends: [l4Backend('be', ripIds, backend)],
      l4Frontends: [l4Frontend('fe', 'be', frontend)],
    }),
  )
  return one
}
const ports = (...args: Parameters<typeof served>) => served(...args)?.destinations.map(({ port }) => port)

t.test('only address translation changes the port', (test) => {
  test.same(ports({}, {}), [8080, 80])
  test.same(ports({ forwarding: 'gate' }, {}), [80, 80])
  test.same(ports({ forwarding: 'ipip', ports: '80,443' }, {}), [0, 0])
  test.same(ports({ ports: '80,443' }, {}), [8080, 0])
  test.same(ports({ ports: '80,443' }, { persistTimeout: 60 }), [0, 0])
  test.end()
})

t.test('persistent translation to one port happens before the kernel balances', (test) => {
  test.equal(served({}, { persistTimeout: 60 }, ['own'])?.rewrittenPort, 8080)
  test.equal(served({}, { persistTimeout: 60 }, ['clients'])?.rewrittenPort, undefined)
  test.equal(served({ ports: '8080' }, { persistTimeout: 60 }, ['own'])?.rewrittenPort, undefined)
  test.equal(served({ forwarding: 'gate' }, { persistTimeout: 60 }, ['own'])?.rewrittenPort, undefined)
  test.end()
})

t.test('shares: the weight, that of the membership, 0 while drained, none while halted', (test) => {
  const one = served(
    {},
    { reals: [{ ripId: 'own' }, { ripId: 'clients', weight: 3 }, { ripId: 'drained' }, { ripId: 'halted' }] },
  )
  test.same(
    one?.destinations.map(({ share, weightFile }) => [share, weightFile]),
    [
      [9, 'own'],
      [3, 'be_clients'],
      [0, 'drained'],
      ['halted', 'halted'],
    ],
  )
  test.end()
})

t.test('a service that is disabled, without servers, or without its backend is not served', (test) => {
  test.equal(served({ enabled: false }, {}), undefined)
  test.equal(served({}, {}, []), undefined)
  test.equal(served({ backendId: 'none' }, {}), undefined)
  test.end()
})

t.test('addresses have one form, which nft accepts and ipvsadm prints', (test) => {
  const [one] = servedFrontends(
    viewOf({
      realServers: [realServer('six', { ip: '2001:DB8:0::1', port: 80 })],
      l4Backends: [l4Backend('be', ['six'])],
      l4Frontends: [l4Frontend('fe', 'be', { ip: '2001:db8::192.0.2.1' })],
    }),
  )
  test.equal(one?.frontend.ip, '2001:db8::c000:201')
  test.equal(one?.destinations[0]?.ip, '2001:db8::1')
  test.end()
})
