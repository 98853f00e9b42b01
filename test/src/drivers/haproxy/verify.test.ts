import t from 'tap'
import { supervisedPaths } from '../../../../src/drivers/haproxy/paths.ts'
import { verifyConfig } from '../../../../src/drivers/haproxy/verify.ts'
import { backend, frontend, realServer } from '../../../fixtures/config.ts'
import { PATHS, type Records, viewOf } from './records.ts'

const problems = (records: Records) => verifyConfig(viewOf(records), PATHS)
const realServers = [realServer('r1'), realServer('r2', { port: null })]

t.test('a sound configuration has no problem', (t) => {
  t.strictSame(problems({}), [])
  const l7Frontends = [frontend('f', 'b'), frontend('g', null, { ports: '81' })]
  t.strictSame(problems({ realServers, l7Frontends, l7Backends: [backend('b', ['r1', 'r2'])] }), [])
  t.end()
})

t.test('frontend and backend must have the same mode', (t) => {
  const l7Backends = [backend('b', [], { mode: 'tcp' })]
  const found = problems({ l7Frontends: [frontend('f', 'b')], l7Backends })
  t.match(found, [
    {
      section: 'l7Frontends',
      id: 'f',
      field: 'defaultBackendId',
      message: /has mode http, but its backend b has mode tcp/,
    },
  ])
  t.end()
})

t.test('an address on which nothing can listen', (t) => {
  const on = (ip: string) => problems({ l7Frontends: [frontend('f', null, { ip, enabled: false })] })
  for (const ip of [
    '224.0.0.1',
    '239.255.255.255',
    '255.255.255.255',
    '::ffff:127.0.0.1',
    '::FFFF:7f00:1',
    'ff02::1',
  ]) {
    t.match(
      on(ip),
      [{ section: 'l7Frontends', id: 'f', field: 'ip', message: `Frontend f cannot listen on ${ip}` }],
      ip,
    )
  }
  for (const ip of ['0.0.0.0', '::', '::1', '223.255.255.255', '240.0.0.1', '2001:db8::ffff:1'])
    t.strictSame(on(ip), [], ip)
  t.match(problems({ l7Frontends: [frontend('f', 'gone', { ip: '224.0.0.1' })] }), [
    { field: 'ip' },
    { field: 'defaultBackendId' },
  ])
  t.end()
})

t.test('an address at which there is no server', (t) => {
  for (const ip of ['0.0.0.0', '::', '0::0']) {
    const l7Backends = [backend('b', ['r1'], { fallback: { ip, port: 80 } })]
    t.match(
      problems({ realServers: [realServer('r1', { ip })], l7Backends }),
      [
        { section: 'l7Backends', id: 'b', field: 'fallback.ip', message: `the fallback server has the address ${ip}` },
        { section: 'l7Backends', id: 'b', field: 'reals.0.ripId', message: `real server r1 has the address ${ip}` },
      ],
      ip,
    )
  }
  t.end()
})

t.test('a backend that does not exist', (t) => {
  t.match(problems({ l7Frontends: [frontend('f', 'gone')] }), [{ id: 'f', field: 'defaultBackendId' }])
  t.end()
})

t.test('a real server that does not exist, is twice in a backend or has a reserved id', (t) => {
  const l7Backends = [backend('b', ['r1', 'gone', 'r1', 'fallback'])]
  t.match(problems({ realServers: [...realServers, realServer('fallback')], l7Backends }), [
    {
      section: 'l7Backends',
      id: 'b',
      field: 'reals.2.ripId',
      message: /^Backend b, real server r1 \(r1\): reals.2.ripId is already in this backend$/,
    },
    { field: 'reals.1.ripId', message: /^Backend \S+: there is no real server gone$/ },
    { field: 'reals.3.ripId', message: /reserved for the fallback/ },
  ])
  t.end()
})

t.test('a health check needs a port', (t) => {
  const l7Backends = [backend('b', ['r2'], { healthCheck: { type: 'tcp' } })]
  t.match(problems({ realServers, l7Backends }), [{ id: 'b', field: 'reals.0.port', message: /r2 has no port/ }])
  const withPort = [backend('b', [], { healthCheck: { type: 'tcp' }, reals: [{ ripId: 'r2', port: 80 }] })]
  t.strictSame(problems({ realServers, l7Backends: withPort }), [], 'the port of the membership suffices')
  t.end()
})

t.test('cookies and URIs need mode http', (t) => {
  const l7Backends = [backend('b', [], { mode: 'tcp', balance: 'uri', persistence: { type: 'cookie' } })]
  t.match(problems({ l7Backends }), [{ field: 'persistence.type' }, { field: 'balance' }])
  t.end()
})

t.test('TLS settings need TLS', (t) => {
  const reals = [{ ripId: 'r1', verify: true, sni: 'example.com' }]
  t.match(problems({ realServers, l7Backends: [backend('b', [], { reals })] }), [
    { field: 'reals.0.verify' },
    { field: 'reals.0.sni' },
  ])
  t.end()
})

t.test('a certificate is verified for a name', (t) => {
  const reals = [{ ripId: 'r1', encrypted: true, verify: true }]
  t.match(problems({ realServers, l7Backends: [backend('b', [], { reals })] }), [
    {
      section: 'l7Backends',
      id: 'b',
      field: 'reals.0.sni',
      message: /real server r1 \(r1\): reals.0.sni is required for verify/,
    },
  ])
  const named = reals.map((member) => ({ ...member, sni: 'a.example' }))
  t.strictSame(problems({ realServers, l7Backends: [backend('b', [], { reals: named })] }), [])
  t.end()
})

t.test('all problems are reported at once', (t) => {
  const found = problems({
    l7Frontends: [frontend('f', 'gone'), frontend('g', 'b')],
    l7Backends: [backend('b', ['gone'], { mode: 'tcp' })],
  })
  t.equal(found.length, 4)
  t.end()
})

t.test('a state folder with too long names of sockets', (t) => {
  const found = verifyConfig(viewOf({}), supervisedPaths(`/tmp/${'x'.repeat(90)}`))
  t.equal(found.length, 3)
  t.match(found[0], { section: undefined, message: /too long for a socket.*shorter state folder/ })
  t.end()
})

t.test('members are numbered consecutively, however many there are', (t) => {
  const ids = Array.from({ length: 250 }, (_, at) => `m${at}`)
  const many = ids.filter((id) => id !== 'm120').map((id) => realServer(id, id === 'm240' ? { port: null } : {}))
  const healthCheck = { type: 'tcp' } as const
  const l7Backends = [backend('b', ids, { healthCheck })]
  const expected = [{ field: 'reals.120.ripId' }, { field: 'reals.240.port' }]
  t.match(problems({ realServers: many, l7Backends }), expected)
  t.match(problems({ realServers: many, l7Backends }), expected, 'the same records again')
  const whole = ids.map((id) => realServer(id))
  t.strictSame(problems({ realServers: whole, l7Backends }), [], 'others of the same backend')
  t.end()
})
