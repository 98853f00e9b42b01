import t from 'tap'
import { backendDifference, differenceOf, same, serverEffect } from '../../../../src/drivers/haproxy/changes.ts'
import { serversOf } from '../../../../src/drivers/haproxy/server.ts'
import { type L7Raw, NO_RAW } from '../../../../src/model/l7-raw.ts'
import type { L7Backend } from '../../../../src/model/layer7.ts'
import { backend, frontend, realServer } from '../../../fixtures/config.ts'
import { type Records, viewOf } from './records.ts'

const base = {
  realServers: [realServer('r1'), realServer('r2'), realServer('r3')],
  l7Frontends: [frontend('f', 'b')],
  l7Backends: [backend('b', ['r1', 'r2'])],
}
const withBackend = (more: Partial<L7Backend>, ripIds = ['r1', 'r2']): Records => ({
  ...base,
  l7Backends: [backend('b', ripIds, more)],
})
const difference = (before: Records, after: Records) => differenceOf(viewOf(before), viewOf(after))

t.test('the same configuration has no difference', (t) => {
  t.strictSame(difference(base, structuredClone(base)), [])
  t.end()
})

t.test('names and the order of servers do not matter to HAProxy', (t) => {
  t.strictSame(difference(base, withBackend({ name: 'new' }, ['r2', 'r1'])), [])
  t.strictSame(difference(base, { ...base, l7Frontends: [frontend('f', 'b', { name: 'new' })] }), [])
  t.strictSame(difference(base, { ...base, realServers: base.realServers.map((r) => ({ ...r, name: 'new' })) }), [])
  t.end()
})

t.test('servers that are changed, added and removed', (t) => {
  const changed = { ...base, realServers: [realServer('r1', { weight: 5 }), ...base.realServers.slice(1)] }
  t.match(difference(base, changed), [{ backendId: 'b', before: { weight: 100 }, after: { weight: 5 } }])
  t.match(difference(base, withBackend({}, ['r3', 'r1', 'r2'])), [{ before: undefined, after: { id: 'r3' } }])
  t.match(difference(base, withBackend({}, ['r2'])), [{ before: { id: 'r1' }, after: undefined }])
  const swapped = difference(base, withBackend({}, ['r2', 'r3']))
  t.match(swapped, [{ after: { id: 'r3' } }, { before: { id: 'r1' }, after: undefined }], 'removals are last')
  t.equal(swapped.length, 2)
  t.end()
})

t.test('changes that need a reload', (t) => {
  const reloads: readonly (readonly [string, Records])[] = [
    ['a port', { ...base, l7Frontends: [frontend('f', 'b', { ports: '81' })] }],
    ['a new frontend', { ...base, l7Frontends: [...base.l7Frontends, frontend('g', null, { ports: '81' })] }],
    ['a new backend', { ...base, l7Backends: [...base.l7Backends, backend('c', [])] }],
    ['another backend', { ...base, l7Frontends: [], l7Backends: [backend('c', [])] }],
    ['a disabled backend', withBackend({ enabled: false })],
    ['a timeout', withBackend({ timeoutServer: 1 })],
    ['a fallback', withBackend({ fallback: { ip: '192.0.2.1', port: 80 } })],
    ['a check', withBackend({ healthCheck: { type: 'tcp' } })],
    ['an option of a server', withBackend({ reals: [{ ripId: 'r1', backup: true }, { ripId: 'r2' }] })],
    [
      'a port that becomes that of the client',
      { ...base, realServers: base.realServers.map((r) => ({ ...r, port: null })) },
    ],
  ]
  for (const [name, after] of reloads) t.equal(difference(base, after), 'reload', name)
  t.end()
})

t.test('servers are added and removed at runtime only where HAProxy can and the result is that of the file', (t) => {
  const addition = (more: Partial<L7Backend>) => difference(withBackend(more, ['r1']), withBackend(more, ['r1', 'r2']))
  t.equal(addition({ persistence: { type: 'cookie' } }), 'reload', 'a new server has no cookie')
  const program = { type: 'script', id: 'ping' } as const
  t.equal(addition({ healthCheck: program }), 'reload', 'a new server has no program for its check')
  t.equal(addition({ balance: 'first' }), 'reload', 'order counts')
  for (const balance of ['roundrobin', 'leastconn', 'random', 'source', 'uri'] as const) {
    t.equal(addition({ balance }).length, 1, balance)
  }
  t.equal(addition({ persistence: { type: 'ip' } }).length, 1)
  t.equal(difference(withBackend({ balance: 'first' }), withBackend({ balance: 'first' }, ['r2', 'r1'])), 'reload')
  t.end()
})

t.test('a server added at runtime would lack the raw lines for all servers', (t) => {
  const raw = (more: Partial<L7Raw>): Records => ({ l7Raw: [{ id: 'cluster', ...NO_RAW, ...more }] })
  const addition = (more: Records) =>
    difference({ ...withBackend({}, ['r1']), ...more }, { ...withBackend({}, ['r1', 'r2']), ...more })
  const lines = ['default-server port 8008']
  t.equal(addition(raw({ backends: [{ id: 'b', lines }] })), 'reload')
  t.equal(addition(raw({ defaults: lines })), 'reload')
  t.equal(addition(raw({ backends: [{ id: 'c', lines }] })).length, 1)
  t.equal(addition(raw({ backends: [{ id: 'b', lines: ['fullconn 5'] }] })).length, 1)
  const own = raw({ backends: [{ id: 'b', lines }] })
  t.equal(difference({ ...base, ...own }, { ...withBackend({}, ['r1']), ...own }).length, 1, 'a removal')
  t.end()
})

t.test('backup servers serve in the order of the file: adding, removing or moving one needs a reload', (t) => {
  const fallback = { ip: '192.0.2.1', port: 80 }
  const backup = (ripId: string) => ({ ripId, backup: true })
  const r1 = { ripId: 'r1' }
  for (const more of [{}, { fallback }, { persistence: { type: 'ip' } }] as const) {
    const between = (before: L7Backend['reals'], after: L7Backend['reals']) =>
      difference(withBackend({ ...more, reals: before }), withBackend({ ...more, reals: after }))
    t.equal(between([r1], [r1, backup('r2')]), 'reload', 'added')
    t.equal(between([r1, backup('r2')], [r1]), 'reload', 'removed')
    t.equal(between([r1, backup('r2')], [r1, backup('r3'), backup('r2')]), 'reload', 'before another')
    t.equal(between([r1, backup('r2'), backup('r3')], [r1, backup('r3'), backup('r2')]), 'reload', 'moved')
    t.match(
      between([r1, backup('r2')], [backup('r2'), r1, { ripId: 'r3' }]),
      [{ after: { id: 'r3' } }],
      'an ordinary one',
    )
  }
  t.end()
})

t.test('a disabled backend may change freely', (t) => {
  const off = { enabled: false }
  t.strictSame(difference(withBackend(off), withBackend({ ...off, timeoutServer: 1 }, ['r3'])), [])
  const view = viewOf(base)
  t.strictSame(backendDifference(backend('b', ['r1'], off), view, backend('b', [], off), view), [])
  t.end()
})

t.test('servers are compared by what HAProxy sees', (t) => {
  const group = backend('b', ['r1'])
  const [one] = serversOf(group, viewOf(base))
  const [renamed] = serversOf(group, viewOf({ realServers: [realServer('r1', { name: 'other' })] }))
  if (one === undefined || renamed === undefined) throw new Error('the backend has a server')
  t.ok(same(one, renamed))
  t.notOk(same(one, { ...one, halted: true }))
  t.equal(serverEffect(group, one, { ...one, ip: '::1' }, viewOf(base)), 'runtime')
  t.equal(serverEffect(group, one, { ...one, options: ' backup' }, viewOf(base)), 'reload')
  t.end()
})
