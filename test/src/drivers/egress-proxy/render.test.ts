import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  type ProxyInUse,
  proxyInUse,
  renderApt,
  renderBypass,
  renderEnvironment,
} from '../../../../src/drivers/egress-proxy/render.ts'
import type { SystemProxy } from '../../../../src/model/node.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'

const settings = (more: Partial<SystemProxy> = {}): SystemProxy => ({
  id: 'node',
  enable: true,
  address: { value: 'proxy.test', port: 3128 },
  username: '',
  password: '',
  bypass: [],
  ...more,
})
function used(more: Partial<SystemProxy>): ProxyInUse {
  const proxy = proxyInUse(settings(more))
  if (proxy === undefined) throw new Error('nothing is used')
  return proxy
}

t.test('without an address, switched off, or with an invalid address, nothing is used', async (test) => {
  for (const more of [{ enable: false }, { address: null }, { address: { value: 'a";b', port: 1 } }]) {
    test.equal(proxyInUse(settings(more)), undefined)
  }
  test.equal(proxyInUse(undefined), undefined)
})

t.test('no value of a field becomes another directive or another variable', async (test) => {
  const hostile = [
    '"',
    "'",
    ';',
    '\n',
    '\r',
    '%',
    '\\',
    '#',
    '//',
    '{',
    '}',
    '$HOME',
    '`id`',
    ' ',
    '\0',
    '@',
    ':',
    '/',
    'é',
    '💥',
  ]
  for (const value of [...hostile, hostile.join('')]) {
    const proxy = used({ username: `u${value}`, password: `p${value}`, bypass: [`b${value}`, 'good.test'] })
    const apt = renderApt(proxy, '/script').trimEnd().split('\n').slice(1)
    test.equal(apt.length, 4, JSON.stringify(value))
    for (const line of apt) test.match(line, /^Acquire::https?::[A-Za-z-]+ "[A-Za-z0-9:/%@.]+";$/)
    const variables = renderEnvironment(proxy).trimEnd().split('\n').slice(1)
    test.equal(variables.length, 6, JSON.stringify(value))
    for (const line of variables) test.match(line, /^[a-zA-Z_]+=[A-Za-z0-9:/%@.,]*$/)
    const url = new URL(/"(http[^"]*)"/.exec(apt[0] ?? '')?.[1] ?? '')
    test.same([url.username, url.password].map(decodeURIComponent), [`u${value}`, `p${value}`], 'and nothing is lost')
    test.equal(url.host, 'proxy.test:3128')
  }
})

t.test('an IPv6 proxy is in brackets', async (test) => {
  test.match(renderApt(used({ address: { value: '2001:db8::8', port: 80 } }), '/s'), '"http://[2001:db8::8]:80/"')
})

/** The answers of the script to a program that asks about a host. */
function answers(test: Test, bypass: readonly string[]) {
  const script = join(temporaryFolder(test, 'bypass'), 'bypass')
  writeFileSync(script, renderBypass(used({ bypass: [...bypass], password: 'secret' })), { mode: 0o755 })
  return (url: string) => execFileSync(script, [url], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}

const CASES: readonly (readonly [
  name: string,
  bypass: string,
  direct: readonly string[],
  proxied: readonly string[],
])[] = [
  [
    'a host or bare domain matches itself and its subdomains',
    'Example.test',
    ['example.test', 'EXAMPLE.test:8080', 'deb.example.test', 'a.b.example.test', 'example.test.', 'u:p@example.test'],
    ['anexample.test', 'example.test.org', 'test', 'example', '192.0.2.1', ''],
  ],
  [
    'a leading-dot suffix matches only names below it',
    '.example.test',
    ['deb.example.test', 'a.b.example.test:1'],
    ['example.test', 'deb-example.test', 'deb.example.test.org', 'e'],
  ],
  [
    'an IPv4 address matches itself',
    '192.0.2.1',
    ['192.0.2.1', '192.0.2.1:8080'],
    ['192.0.2.10', '192.0.2.2', 'a.192.0.2.1.test', '[::ffff:192.0.2.1]'],
  ],
  [
    'an IPv6 address matches itself however it is written',
    '2001:db8::1',
    ['[2001:db8::1]', '[2001:0DB8:0:0::0001]:8080'],
    ['[2001:db8::2]', '2001', '192.0.2.1'],
  ],
  [
    'an IPv4 network matches its addresses, host bits or not',
    '10.1.2.3/9',
    ['10.0.0.1', '10.127.255.255:80'],
    ['10.128.0.0', '11.0.0.1', '[a00::1]', 'ten.test'],
  ],
  ['a network of everything', '0.0.0.0/0', ['203.0.113.9'], ['[::1]', 'a.test']],
  ['a network of one', '192.0.2.7/32', ['192.0.2.7'], ['192.0.2.6']],
  [
    'an IPv6 network matches its addresses',
    '2001:db8:8000::/33',
    ['[2001:db8:8000::1]', '[2001:db8:ffff::]:1'],
    ['[2001:db8:7fff::1]', '32.1.13.184', 'a.test'],
  ],
]

for (const [name, bypass, direct, proxied] of CASES) {
  t.test(`the script: ${name}`, async (test) => {
    const asked = answers(test, ['unrelated.test', bypass, '198.51.100.0/24'])
    for (const host of direct) test.equal(asked(`http://${host}/dists/a?b#c`), 'DIRECT\n', host)
    for (const host of proxied) test.equal(asked(`https://${host}/example.test/192.0.2.1`), '', host)
  })
}

t.test('the script holds no secret', async (test) => {
  test.notMatch(renderBypass(used({ username: 'somebody', password: 'secret', bypass: ['a.test'] })), /secret|somebody/)
})
