import t from 'tap'
import { verifyConfig } from '../../../../src/drivers/keepalived/verify.ts'
import { frontend, l4Backend, l4Frontend, realServer } from '../../../fixtures/config.ts'
import { type Records, viewOf } from '../../../fixtures/view.ts'

const reals = [
  realServer('web', { ip: '10.0.0.1', port: 80 }),
  realServer('app', { ip: '10.0.0.2', port: 8080 }),
  realServer('six', { ip: 'fd00::1', port: 80 }),
  realServer('twin', { ip: '10.0.0.1', port: 80 }),
]
const problems = (records: Records) =>
  verifyConfig(viewOf({ realServers: reals, ...records })).map(
    ({ section, id, field, message }) => `${section} ${id} ${field}: ${message}`,
  )
const one = (
  more: Parameters<typeof l4Frontend>[2],
  backend: Parameters<typeof l4Backend>[2] = {},
  ripIds: readonly string[] = ['web'],
) => problems({ l4Backends: [l4Backend('be', ripIds, backend)], l4Frontends: [l4Frontend('fe', 'be', more)] })

t.test('an ordinary frontend has no problem', (test) => {
  test.same(one({}), [])
  test.same(one({ ports: '80,443', forwarding: 'gate' }, { persistTimeout: 60, persistMask: '255.255.255.0' }), [])
  test.end()
})

t.test('a real server with a host name is no destination, wherever it came from', (test) => {
  const named = [realServer('far', { ip: 'web.test', resolve: 'live' })]
  for (const ip of ['192.0.2.10', 'fd00::2']) {
    const records = { l4Backends: [l4Backend('be', ['far'])], l4Frontends: [l4Frontend('fe', 'be', { ip })] }
    const found = problems({ ...records, realServers: named })
    test.match(found, [/^l4Backends be reals\.0\.ripId: Backend be: .* real server far \(far\).* host name web\.test/])
    test.equal(found.length, 1, 'and none of its consequences')
  }
  test.end()
})

t.test('settings that the kernel does not support are reported beforehand', (test) => {
  test.match(one({ forwarding: 'gate' }, {}, ['app']), [
    /l4Frontends fe forwarding: .*gate cannot change the port.*8080/,
  ])
  test.match(one({ ports: '80,443' }, { persistTimeout: 60 }, ['app']), [
    /a persistent frontend with several ports cannot/,
  ])
  test.match(one({}, { persistTimeout: 60 }, ['web', 'app']), [
    /all real servers need the same port, but they have 80, 8080/,
  ])
  const [fallback, other] = [
    { ip: '10.0.0.9', port: 80 },
    { ip: '10.0.0.9', port: 8080 },
  ]
  test.match(one({}, { persistTimeout: 60, fallback: other }), [
    /all real servers and the fallback need the same port, but they have 80, 8080/,
  ])
  test.same(one({}, { persistTimeout: 60, fallback }), [])
  test.same(one({}, { persistTimeout: 60, fallback: other }, ['app']), [], 'where packets get that port as well')
  test.same(one({}, { fallback: other }), [], 'without persistence the kernel translates it')
  test.match(one({}, {}, ['six']), [
    /192\.0\.2\.10 and real server six \(fd00::1\) belong to different address families/,
  ])
  test.match(one({}, {}, ['web', 'twin']), [/real servers web and twin are both 10\.0\.0\.1:80/])
  test.match(one({}, { fallback: { ip: 'fd00::9', port: 80 } }), [
    /the fallback \(fd00::9\) belong to different address families/,
  ])
  test.match(one({}, { fallback: { ip: '10.0.0.1', port: 80 } }), [
    /the fallback and real server web are both 10\.0\.0\.1:80/,
  ])
  test.match(one({ ip: 'fd00::10' }, { persistTimeout: 60, persistMask: '255.0.0.0' }, ['six']), [/is for IPv4/])
  test.match(one({}, { persistTimeout: 60, persistMask: '64' }), [/is for IPv6/])
  test.end()
})

t.test('rules of records by themselves hold for restored ones as well', (test) => {
  test.match(one({ ip: '0.0.0.0' }), [/fe ip: .*not all addresses/])
  test.match(one({ ports: '80,80' }), [/fe ports: .*lists port 80 twice/])
  test.match(one({}, { persistMask: '24' }), [/be persistMask: .*needs persistTimeout/])
  test.match(one({}, { reals: [{ ripId: 'web' }, { ripId: 'web' }] }), [/reals\.1\.ripId/, /both 10\.0\.0\.1:80/])
  test.match(one({}, { healthCheck: { type: 'script', id: 'gone' } }), [/be healthCheck\.id/])
  test.end()
})

t.test('two frontends cannot have one port of one address, in any layer', (test) => {
  const both = (...frontends: readonly ReturnType<typeof l4Frontend>[]) =>
    problems({
      l4Backends: [l4Backend('be', ['web']), l4Backend('kept', ['app'], { persistTimeout: 60 })],
      l4Frontends: frontends,
    })
  test.match(both(l4Frontend('a', 'be'), l4Frontend('b', 'be', { ports: '70-90' })), [/b ports: .*Layer 4 frontend a/])
  test.same(both(l4Frontend('a', 'be'), l4Frontend('b', 'be', { protocol: 'udp' })), [])
  test.same(both(l4Frontend('a', 'be'), l4Frontend('b', 'be', { enabled: false })), [])
  test.match(both(l4Frontend('a', 'be', { ports: '8080' }), l4Frontend('b', 'kept')), [/b ports: .*frontend a/])
  test.match(
    problems({
      l7Frontends: [frontend('seven', null, { ip: '192.0.2.10', ports: '80' })],
      l4Backends: [l4Backend('be', ['web'])],
      l4Frontends: [l4Frontend('fe', 'be')],
    }),
    [/fe ports: .*Layer 7 frontend seven/],
  )
  const udpBeside = (http3: boolean) =>
    problems({
      l7Frontends: [frontend('seven', null, { ip: '192.0.2.10', ports: '80', http3 })],
      l4Backends: [l4Backend('be', ['web'])],
      l4Frontends: [l4Frontend('fe', 'be', { protocol: 'udp' })],
    })
  test.match(udpBeside(true), [/fe ports: .*Layer 7 frontend seven/], 'HTTP/3 would get no packet')
  test.same(udpBeside(false), [])
  test.end()
})
