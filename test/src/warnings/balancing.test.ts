import t from 'tap'
import type { Rule } from '../../../src/model/l7-rules.ts'
import type { L7Backend } from '../../../src/model/layer7.ts'
import type { RealServer } from '../../../src/model/real-server.ts'
import { layer4ServersLeft, layer7ServersLeft, weights } from '../../../src/warnings/balancing.ts'
import { backend, frontend, l4Backend, l4Frontend, realServer } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

const FALLBACK = { ip: '192.0.2.9', port: 80 }

/** Warnings for a frontend whose backend has two real servers with these fields. */
function said(states: readonly Partial<RealServer>[], more: Partial<L7Backend> = {}) {
  const realServers = states.map((state, index) => realServer(`r${index}`, state))
  const ids = realServers.map(({ id }) => id)
  const layer4 = 'enabled' in more ? {} : more
  const view = viewOf({
    realServers,
    l7Backends: [backend('b', ids, more)],
    l4Backends: [l4Backend('b', ids, layer4)],
  })
  const found = [...layer7ServersLeft(frontend('f', 'b'), view), ...layer4ServersLeft(l4Frontend('g', 'b'), view)]
  return found.map(({ code, resource, message }) => [code, resource, message] as const)
}

t.test('NO_SERVER_LEFT: no server behind a frontend takes traffic', async (test) => {
  test.same(said([{ state: 'online' }, { state: 'halted' }]), [], 'one is left')
  test.same(said([{ state: 'halted' }, { state: 'drained' }], { fallback: FALLBACK }), [], 'the fallback answers')
  test.match(
    said([], { fallback: FALLBACK }),
    [['NO_SERVER_LEFT', 'l4Frontends', /has no real servers/]],
    'a service of Layer 4 needs a real server beside its fallback',
  )
  for (const states of [[{ state: 'halted' }, { state: 'drained' }], [{ weight: 0 }], []] as const) {
    const found = said(states)
    test.same(
      found.map(([code, resource]) => [code, resource]),
      [
        ['NO_SERVER_LEFT', 'l7Frontends'],
        ['NO_SERVER_LEFT', 'l4Frontends'],
      ],
      JSON.stringify(states),
    )
    for (const [, , message] of found) test.match(message, /frontend \w \(\w\) would have .* backend b \(b\)/)
  }
  test.match(said([{}], { enabled: false }), [['NO_SERVER_LEFT', 'l7Frontends', /Layer 7 backend b \(b\) is disabled/]])
})

t.test('NO_SERVER_LEFT: dh may choose a drained server, whatever the others do', async (test) => {
  const of = (state: RealServer['state'], scheduler: 'dh' | 'sh') => {
    const realServers = [realServer('a'), realServer('b', { state })]
    const view = viewOf({ realServers, l4Backends: [l4Backend('b', ['a', 'b'], { scheduler })] })
    return layer4ServersLeft(l4Frontend('g', 'b'), view)
  }
  test.match(of('drained', 'dh'), [{ code: 'NO_SERVER_LEFT', message: /frontend g .* may refuse .* b \(b\) .* by dh/ }])
  test.same(of('halted', 'dh'), [])
  test.same(of('online', 'dh'), [])
  test.same(of('drained', 'sh'), [])
})

t.test('NO_SERVER_LEFT: each backend of the rules needs one', async (test) => {
  const view = viewOf({ realServers: [realServer('r')], l7Backends: [backend('a', ['r']), backend('b', [])] })
  const of = (rules: Rule[], id: string | null) => layer7ServersLeft(frontend('f', id, { rules }), view)
  const to = (backendId: string): Rule => ({ do: { type: 'backend', backendId } })
  test.match(of([to('b')], 'a'), [{ code: 'NO_SERVER_LEFT', message: /has requests that .*b \(b\) has no real/ }])
  test.match(of([to('b')], null), [{ message: /would have no server/ }])
  test.same(of([to('a')], null), [])
  test.same(of([{ do: { type: 'respond' } }], null), [], 'it answers itself')
  test.match(of([{ do: { type: 'removeHeader', name: 'X' } }], null), [{ code: 'NO_SERVER_LEFT' }])
})

t.test('a frontend that serves nothing, or only redirects, needs no server', async (test) => {
  const view = viewOf({
    l7Backends: [],
    floatingIps: [{ id: 'x', ip: '192.0.2.1', groupId: 'g', enabled: false }],
  })
  const of = (more: object) => layer7ServersLeft(frontend('f', null, more), view).map(({ code }) => code)
  test.same(of({}), ['NO_SERVER_LEFT'])
  test.same(of({ enabled: false }), [])
  test.same(of({ ip: '192.0.2.1' }), [], 'it rests')
  test.same(of({ httpRedirectToHttps: true }), [])
  test.same(of({ httpRedirectToHttps: true, certificates: ['c'] }), ['NO_SERVER_LEFT'])
})

t.test('WEIGHTS_MEAN_LITTLE: different weights where they have little or no effect', async (test) => {
  const view = viewOf({
    realServers: [
      realServer('a', { weight: 10 }),
      realServer('b', { weight: 20 }),
      realServer('h', { state: 'halted' }),
    ],
  })
  const of = (balance: L7Backend['balance'], ids = ['a', 'b']) =>
    weights('l7Backends', backend('be', ids, { balance }), view).map(({ code }) => code)
  test.same(of('leastconn'), ['WEIGHTS_MEAN_LITTLE'])
  test.same(of('first'), ['WEIGHTS_MEAN_LITTLE'])
  test.same(of('roundrobin'), [])
  test.same(of('leastconn', ['a', 'h']), [], 'only one of them takes traffic')
  const even = backend('be', [], { balance: 'leastconn', reals: ['a', 'b'].map((ripId) => ({ ripId, weight: 5 })) })
  test.same(weights('l7Backends', even, view), [], 'the weights of the backend are the same')
  const spare = [{ ripId: 'a' }, { ripId: 'b', backup: true }]
  const one = backend('be', [], { balance: 'leastconn', reals: spare })
  test.same(weights('l7Backends', one, view), [], 'a backup shares no traffic')
  const layer4 = (scheduler: 'rr' | 'wrr') =>
    weights('l4Backends', l4Backend('be', ['a', 'b'], { scheduler }), view).map(({ message }) => message)
  test.match(layer4('rr'), [/Layer 4 backend be \(be\) .* rr ignores weights/])
  test.same(layer4('wrr'), [])
})
