import t from 'tap'
import { backendSkeleton, backendStatements, backendText } from '../../../../src/drivers/haproxy/backend.ts'
import { textOf } from '../../../../src/drivers/haproxy/statement.ts'
import type { L7Backend } from '../../../../src/model/layer7.ts'
import { backend, realServer } from '../../../fixtures/config.ts'
import { viewOf } from './records.ts'

const view = viewOf({ realServers: [realServer('r1'), realServer('r2')] })
const text = (more: Partial<L7Backend>): string => backendText(backend('b', ['r1', 'r2'], more), view, '/checks')

t.test('the text is that of its statements', (t) => {
  for (const more of [{}, { enabled: false }, { fallback: { ip: '192.0.2.9', port: 80 } }]) {
    t.equal(text(more), textOf(backendStatements(backend('b', ['r1', 'r2'], more), view, '/checks')))
  }
  t.end()
})

t.test('hashing is consistent, so that servers can be added and removed', (t) => {
  for (const balance of ['source', 'uri'] as const) t.match(text({ balance }), 'hash-type consistent')
  for (const balance of ['roundrobin', 'leastconn', 'random', 'first'] as const) t.notMatch(text({ balance }), 'hash')
  t.end()
})

t.test('persistence by cookie and by address', (t) => {
  t.match(
    text({ persistence: { type: 'cookie' } }),
    'cookie FULCRUMID insert indirect nocache httponly attr "SameSite=Lax"\n' +
      "    http-after-response replace-header Set-Cookie '^(FULCRUMID=.*)' '\\1; Secure' if { ssl_fc }\n",
  )
  t.match(text({ persistence: { type: 'ip' } }), /stick-table type ipv6 .* expire 1800s .* peers \w+\n.*stick on src/)
  t.match(text({ persistence: { type: 'ip', timeout: 5 } }), 'expire 5s')
  t.end()
})

t.test('the fallback is the last backup server and never remembered', (t) => {
  const fallback = { ip: '192.0.2.9', port: 80 }
  t.match(text({ fallback }), /server fallback 192\.0\.2\.9:80 backup\n$/)
  t.match(text({ fallback, persistence: { type: 'ip' } }), /server fallback 192\.0\.2\.9:80 backup non-stick\n$/)
  t.end()
})

t.test('http checks contain their request', (t) => {
  t.match(text({ healthCheck: { type: 'http' } }), 'meth GET uri / ver HTTP/1.0\n')
  t.match(text({ healthCheck: { type: 'http', host: 'h' } }), 'ver HTTP/1.1 hdr Host h\n')
  t.match(text({ healthCheck: { type: 'http', expect: '204' } }), 'expect status 204\n')
  t.notMatch(text({ healthCheck: { type: 'tcp' } }), 'httpchk')
  t.end()
})

t.test('the skeleton ignores only names and servers', (t) => {
  const skeleton = (more: Partial<L7Backend>): string => backendSkeleton(backend('b', ['r1'], more))
  t.equal(skeleton({ name: 'other', reals: [] }), skeleton({}))
  t.not(skeleton({ timeoutServer: 9 }), skeleton({}))
  t.not(skeleton({ fallback: { ip: '192.0.2.9', port: 80 } }), skeleton({}))
  t.equal(skeleton({ enabled: false }), '')
  t.end()
})
