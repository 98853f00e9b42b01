import t from 'tap'
import { Value } from 'typebox/value'
import { isService, resolvedAt, ServerHost } from '../../../src/model/real-server.ts'

t.test('the address of a server: an IP address, a host name, or a name of SRV records', async (test) => {
  for (const right of ['192.0.2.1', '2001:db8::1', 'web', 'web-1.example.org', '_http._tcp.example.org', '_A-1._udp.x'])
    test.ok(Value.Check(ServerHost, right), right)
  const wrong = [
    '',
    'fe80::1%eth0',
    '10.1',
    'web.1',
    'web.',
    '_http.example.org',
    '_http._tcp',
    '_http._tcp.',
    '_._tcp.x',
  ]
  for (const text of [
    ...wrong,
    '_http._tcp.x.1',
    '_ht tp._tcp.x',
    '_http._tcp.x\n',
    '-a._tcp.x',
    '_a_b._tcp.x',
    'x._a._tcp.y',
  ])
    test.notOk(Value.Check(ServerHost, text), JSON.stringify(text))
})

t.test('SRV records are followed live, whatever a record says', async (test) => {
  test.ok(isService('_HTTP._tcp.example.org'))
  test.notOk(isService('http.example.org'))
  test.equal(resolvedAt({ ip: '_http._tcp.example.org', resolve: 'start' }), 'live')
  test.equal(resolvedAt({ ip: 'web.test', resolve: 'start' }), 'start')
  test.equal(resolvedAt({ ip: '192.0.2.1' }), undefined)
})
