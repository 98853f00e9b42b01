import t from 'tap'
import { frontendStatements } from '../../../../src/drivers/haproxy/frontend.ts'
import { textOf } from '../../../../src/drivers/haproxy/statement.ts'
import type { L7Frontend } from '../../../../src/model/layer7.ts'
import { backend, frontend } from '../../../fixtures/config.ts'
import { FOLDERS, viewOf } from './records.ts'

const view = viewOf({ l7Backends: [backend('b', []), backend('off', [], { enabled: false })] })
const text = (more: Partial<L7Frontend>): string => textOf(frontendStatements(frontend('f', 'b', more), view, FOLDERS))

t.test('each port and range has its own bind', (t) => {
  t.match(text({ ports: '80,90-99' }), '    bind 127.0.0.1:80\n    bind 127.0.0.1:90-99\n')
  t.match(text({ ip: '::1' }), 'bind [::1]:8080\n')
  t.match(text({ ip: '::' }), 'bind [::]:8080 v6only\n', 'the IPv6 wildcard leaves IPv4 to others')
  t.end()
})

t.test('X-Forwarded-For is for http only', (t) => {
  t.match(text({ forwardFor: true }), 'option forwardfor')
  t.notMatch(text({ forwardFor: true, mode: 'tcp' }), 'forwardfor')
  t.end()
})

t.test('the wait for headers is never longer than the client timeout', (t) => {
  t.match(text({ timeoutClient: 3 }), 'timeout http-request 3s')
  t.match(text({ timeoutClient: 300 }), /timeout http-request 10s\n.*http-keep-alive 300s/)
  t.end()
})

t.test('a disabled frontend leaves only a comment', (t) => {
  t.strictSame(
    frontendStatements(frontend('f', 'b', { enabled: false }), view, FOLDERS).map(({ kind }) => kind),
    ['comment'],
  )
  t.end()
})

t.test('a disabled, missing or null backend is no default backend', (t) => {
  t.match(text({}), 'default_backend b')
  for (const defaultBackendId of ['off', 'gone', null]) t.notMatch(text({ defaultBackendId }), 'default_backend')
  t.end()
})
