import t from 'tap'
import { hasNames, nameServersOf, resolversLines } from '../../../../src/drivers/haproxy/host-names.ts'
import { serverOf } from '../../../../src/drivers/haproxy/server.ts'
import { serverEffect } from '../../../../src/drivers/haproxy/changes.ts'
import { stateColumns } from '../../../../src/drivers/haproxy/runtime.ts'
import type { RealServer } from '../../../../src/model/real-server.ts'
import { backend, realServer } from '../../../fixtures/config.ts'
import { viewOf } from './records.ts'

t.test('name servers are those of the C library', (t) => {
  const text = `# written by\nsearch example.org\n nameserver\t192.0.2.53 # first\nnameserver 2001:db8::53
nameserver fe80::1%eth0\nnameserver nowhere\n;nameserver 192.0.2.1\nnameserver 192.0.2.54\nnameserver 192.0.2.55\n`
  t.same(nameServersOf(text), ['192.0.2.53:53', '[2001:db8::53]:53', '192.0.2.54:53'])
  t.same(nameServersOf(''), ['127.0.0.1:53'], 'this machine itself')
  const named = viewOf({ realServers: [realServer('r', { ip: 'web.test' })] })
  t.match(resolversLines(named, nameServersOf(text)).join('\n'), /nameserver dns2 \[2001:db8::53\]:53$/m)
  t.end()
})

t.test('names are resolved while some server has a live one', (t) => {
  const asks = (more: Partial<RealServer>) => hasNames(viewOf({ realServers: [realServer('r', more)] }), 'live')
  t.notOk(asks({}))
  t.notOk(asks({ ip: 'web.test', resolve: 'start' }))
  t.ok(asks({ ip: 'web.test', resolve: 'live' }))
  t.ok(asks({ ip: 'web.test' }), 'as a restored record may be')
  t.end()
})

t.test('HAProxy is reloaded when a name is added, removed or changed, and told the rest', (t) => {
  const group = backend('b', ['r'])
  const server = (more: Partial<RealServer>) =>
    serverOf(group, 'r', viewOf({ realServers: [realServer('r', more)], l7Backends: [group] }))
  const named = { ip: 'web.test', resolve: 'live' } as const
  const effect = (before?: Partial<RealServer>, after?: Partial<RealServer>) =>
    serverEffect(group, before && server(before), after && server(after), viewOf({}))
  t.equal(effect(undefined, named), 'reload')
  t.equal(effect(named, undefined), 'reload')
  t.equal(effect({}, named), 'reload')
  t.equal(effect(named, {}), 'reload')
  t.equal(effect(named, { ...named, ip: 'other.test' }), 'reload')
  t.equal(effect(named, { ...named, port: 81 }), 'reload')
  t.equal(effect(named, { ...named, resolve: 'start' }), 'reload')
  t.equal(effect(named, { ...named, weight: 3, state: 'halted' }), 'runtime')
  const read = server({ ...named, state: 'halted' })
  t.same(read && stateColumns(read), {
    srv_port: ['8000'],
    srv_uweight: ['100'],
    srv_admin_state: ['1', '5', '33', '37'],
  })
  t.end()
})

t.test('a server with SRV records has its weight from us, and its port from them', (t) => {
  const group = backend('b', ['r'])
  const real = realServer('r', { ip: '_http._tcp.svc.test', port: null, state: 'drained' })
  const view = viewOf({ realServers: [real], l7Backends: [group] })
  const server = serverOf(group, 'r', view)
  t.match(
    server?.line,
    / server r _http\._tcp\.svc\.test weight 0 .* resolvers services .* resolve-opts ignore-weight$/,
  )
  t.same(server && stateColumns(server), {
    srv_uweight: ['0'],
    srv_admin_state: ['0', '4', '32', '36', '64', '68', '96', '100'],
  })
  t.ok(hasNames(view, 'live'))
  const sections = (...ips: readonly string[]) =>
    resolversLines(viewOf({ realServers: ips.map((ip, at) => realServer(`r${at}`, { ip, port: null })) })).filter(
      (line) => /^resolvers|retries|obsolete/.test(line),
    )
  const names = ['resolvers names', '    resolve_retries 3']
  const services = ['resolvers services', '    resolve_retries 60', '    hold obsolete 10s']
  t.same(sections(real.ip, 'web.test'), [...names, ...services])
  t.same([sections(real.ip), sections('web.test'), sections('192.0.2.1')], [services, names, []])
  t.end()
})
