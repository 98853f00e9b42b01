import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import t from 'tap'
import { HealthCheckSetting } from '../../../src/model/health-check.ts'
import { parsePorts } from '../../../src/model/ports.ts'
import { L7Backend, L7Frontend, L7Real, Persistence } from '../../../src/model/layer7.ts'
import { backend, frontend } from '../../fixtures/config.ts'

const fits = (schema: TSchema, value: unknown) => Compile(schema).Check(value)

t.test('a port list is single ports and ranges, in the order given', async (test) => {
  test.same(parsePorts('80'), [{ first: 80, last: 80 }])
  test.same(parsePorts('443,8000-8010,1-65535'), [
    { first: 443, last: 443 },
    { first: 8000, last: 8010 },
    { first: 1, last: 65_535 },
  ])
  test.same(parsePorts('7-7'), [{ first: 7, last: 7 }])
})

t.test('invalid port lists', async (test) => {
  const bad = ['', '0', '65536', '99999', '100000', '80-70', '0-80', '80-65536', ',', '80,', ',80', '80,,81']
  const worse = ['80 81', ' 80', '80 ', '80-', '-80', '80-81-82', '1e3', '0x50', '+80', 'http', '80\n', '８０']
  for (const text of [...bad, ...worse]) test.equal(parsePorts(text), undefined, JSON.stringify(text))
})

t.test('a frontend as stored', async (test) => {
  test.ok(fits(L7Frontend, frontend('f', null)))
  test.ok(fits(L7Frontend, frontend('f', 'b', { mode: 'tcp', ip: '::', ports: '1-65535', maxConn: 10_000_000 })))
  const wrong: readonly Readonly<Record<string, unknown>>[] = [
    { mode: 'udp' },
    { ip: '::1%lo' },
    { ports: '80-70' },
    { ports: 80 },
    { maxConn: 0 },
    { maxConn: 10_000_001 },
    { timeoutClient: 0 },
    { defaultBackendId: '' },
    { surprise: 1 },
  ]
  for (const more of wrong) test.notOk(fits(L7Frontend, { ...frontend('f', 'b'), ...more }), JSON.stringify(more))
})

t.test('a backend as stored', async (test) => {
  test.ok(fits(L7Backend, backend('b', ['a', 'c'])))
  test.ok(fits(L7Backend, backend('b', [], { fallback: { ip: '::1', port: 80 }, balance: 'first' })))
  const wrong: readonly Readonly<Record<string, unknown>>[] = [
    { balance: 'magic' },
    { fallback: { ip: '::1' } },
    { fallback: { ip: '::1', port: 80, weight: 1 } },
    { reals: [{}] },
    { reals: [{ ripId: 'a', surprise: 1 }] },
    { timeoutConnect: 3601 },
    { persistence: {} },
  ]
  for (const more of wrong) test.notOk(fits(L7Backend, { ...backend('b', []), ...more }), JSON.stringify(more))
})

t.test('text in the generated file holds neither space, quote nor line break', async (test) => {
  const texts = ['a b', 'a\nb', 'a\tb', '"a"', 'a#b', 'a\\b', 'a;b', '']
  for (const text of texts) {
    test.notOk(fits(L7Real, { ripId: 'a', sni: text }), `sni ${JSON.stringify(text)}`)
    test.notOk(fits(Persistence, { type: 'cookie', cookieName: text }), `cookieName ${JSON.stringify(text)}`)
    test.notOk(fits(HealthCheckSetting, { type: 'http', host: text }), `host ${JSON.stringify(text)}`)
    test.notOk(fits(HealthCheckSetting, { type: 'http', expect: text }), `expect ${JSON.stringify(text)}`)
  }
  for (const path of ['', 'health', '?a=1', '*', '/a b', '/a\nb', '/ä', `/${'x'.repeat(1024)}`]) {
    test.notOk(fits(HealthCheckSetting, { type: 'http', path }), JSON.stringify(path))
  }
})

t.test('a complete health check, persistence and membership', async (test) => {
  const check = {
    type: 'https',
    path: '/health?a=1',
    host: '[::1]:8443',
    expect: '200-299,404',
    interval: 3600,
    rise: 1,
    fall: 100,
  }
  test.ok(fits(HealthCheckSetting, check))
  for (const expect of ['200', '200-399', '200,204,301-302']) test.ok(fits(HealthCheckSetting, { ...check, expect }))
  for (const expect of ['99', '600', '200-', '200,', '2xx']) test.notOk(fits(HealthCheckSetting, { ...check, expect }))
  test.ok(fits(Persistence, { type: 'ip', timeout: 2_147_483 }))
  test.notOk(fits(Persistence, { type: 'ip', timeout: 2_147_484 }), 'more than HAProxy can count')
  const member = { encrypted: true, sni: 'a.example.test', verify: true, sendProxy: true, maxConn: 1, backup: true }
  test.ok(fits(L7Real, { ripId: 'a', weight: 0, port: 65_535, ...member }))
  test.notOk(fits(L7Real, { ripId: 'a', weight: 257 }))
})

t.test('the host of a health check is a name or an address, perhaps with a port', async (test) => {
  const good = [
    'a',
    'a.example.test',
    'xn--4ca.test',
    '192.0.2.1',
    '192.0.2.1:80',
    '[::1]',
    '[::1]:65535',
    'a:1',
    '1a.test',
  ]
  for (const host of good) test.ok(fits(HealthCheckSetting, { type: 'http', host }), host)
  const bad = [
    ':80',
    'a..b',
    '.a',
    'a.',
    '-a',
    'a-',
    'x:99999',
    'x:0',
    'x:',
    'x:1:2',
    '192.0.2.256',
    '1.2.3',
    '1.2.3.4.',
  ]
  const worse = ['::1', '[::1', '::1]', '[]', '[a]', '[192.0.2.1]', '[::1]80', 'a\n', 'a/b', `${'a'.repeat(64)}.test`]
  for (const host of [...bad, ...worse])
    test.notOk(fits(HealthCheckSetting, { type: 'http', host }), JSON.stringify(host))
})
