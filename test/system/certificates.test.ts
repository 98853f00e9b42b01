import { randomInt } from 'node:crypto'
import { getuid } from 'node:process'
import t from 'tap'
import { readCertificate } from '../../workers/compute/certificate.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { backend, realServer } from '../fixtures/config.ts'
import { httpOrigin } from './haproxy-traffic.ts'
import { client, listening, output, subjectOf } from './tls-frontend.ts'

const { pair, record, pfx } = certificateMaker(t)
const root = pair({ name: 'Root', isCa: true })
const middle = pair({ name: 'Middle', isCa: true, issuer: root })
const first = record('first', pair({ name: 'first.test' }))
const chained = record('chained', pair({ name: 'chained.test', issuer: middle }), middle)
const rsa = record('rsa', pair({ name: 'rsa.test', key: 'rsa:2048' }))

t.test('the requested name selects the certificate, other clients get the first; the chain is sent', async (test) => {
  const { port } = await listening(test, [first, chained, rsa])
  test.equal(subjectOf(await client(port, '-servername', 'rsa.test')), 'rsa.test')
  const answer = await client(port, '-servername', 'chained.test', '-showcerts')
  test.equal(subjectOf(answer), 'chained.test')
  test.equal(answer.match(/BEGIN CERTIFICATE/g)?.length, 2)
  test.equal(subjectOf(await client(port, '-servername', 'unknown.test')), 'first.test')
  test.equal(subjectOf(await client(port, '-noservername')), 'first.test')
  test.match(await client(port, '-alpn', 'h2,http/1.1'), 'ALPN protocol: h2')
})

t.test('TLS versions older than the minimum are refused', async (test) => {
  const versions = ['tls1', 'tls1_1', 'tls1_2', 'tls1_3']
  for (const [index, minTls] of (['1.0', '1.1', '1.2', '1.3'] as const).entries()) {
    const { port } = await listening(test, [rsa], { minTls })
    const spoken = []
    for (const version of versions) {
      const answer = await client(port, `-${version}`, '-cipher', 'DEFAULT:@SECLEVEL=0')
      if (/^New, TLS.*Cipher is (?!\(NONE\))/m.test(answer)) spoken.push(version)
    }
    test.same(spoken, versions.slice(index), minTls)
  }
})

t.test('a scanner finds exactly the suites of the cipher list', async (test) => {
  const lists: Readonly<Record<string, readonly string[]>> = {
    both: ['TLS_AES_256_GCM_SHA384', 'ECDHE-RSA-AES128-GCM-SHA256', 'DHE-RSA-AES256-GCM-SHA384', 'AES128-SHA'],
    older: ['ECDHE-RSA-CHACHA20-POLY1305', 'ECDHE-RSA-AES256-GCM-SHA384'],
    newer: ['TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'],
  }
  for (const [id, ciphers] of Object.entries(lists)) {
    const cipherLists = [{ id, name: id, ciphers: [...ciphers] }]
    const minTls = id === 'newer' ? '1.3' : '1.2'
    const { port } = await listening(test, [rsa], { cipherListId: id, minTls }, { cipherLists })
    const table = await output('sslscan', '--no-colour', '--no-heartbleed', '--no-renegotiation', `127.0.0.1:${port}`)
    const found = [...table.matchAll(/^(?:Preferred|Accepted)\s+(TLSv1\.\d)\s+\d+ bits\s+(\S+)/gm)].map(
      ([, , suite]) => suite,
    )
    test.same(new Set(found), new Set(ciphers), table)
    test.match(table, /TLSv1\.1\s+disabled/)
  }
})

t.test('RSA and EC PFX files, old and new, end up in handshakes', async (test) => {
  const read = []
  for (const [index, key] of ['ec:secp384r1', 'rsa:2048', 'ed25519'].entries()) {
    for (const more of [[], ['-legacy']]) {
      const name = `n${index}${more.length}.test`
      const upload = { form: 'pfx', pfx: pfx(pair({ name, key }), 'secret', ...more) } as const
      const answer = readCertificate({ upload, password: 'secret', force: false, now_ms: Date.now() })
      if ('problems' in answer) throw new Error(JSON.stringify(answer.problems))
      read.push({ id: `n${index}${more.length}`, name, ...answer.certificate })
    }
  }
  const { port } = await listening(test, read)
  for (const { name } of read) test.equal(subjectOf(await client(port, '-servername', name)), name)
})

t.test('port 80 redirects to https and keeps the path; answers over TLS carry HSTS', async (test) => {
  const origin = await httpOrigin(test, 'hello')
  const realServers = [realServer('r', { port: origin })]
  const l7Backends = [backend('b', ['r'])]
  const { port, apply, view } = await listening(
    test,
    [first],
    { defaultBackendId: 'b', hsts: true },
    { realServers, l7Backends },
  )
  const curl = (...argv: string[]) =>
    output('curl', '-sik', '--max-time', '10', '--resolve', `first.test:${port}:127.0.0.1`, ...argv)
  const answer = await curl(`https://first.test:${port}/`)
  test.match(answer, /^HTTP\/2 200/)
  test.match(answer, /strict-transport-security: max-age=31536000/i)
  // Only root may bind port 80; a frontend without certificates redirects on every port.
  test.match(await apply(view([first]), view([first], { certificates: [], httpRedirectToHttps: true })), { ok: true })
  const plain = (host: string, path: string) =>
    curl('--path-as-is', '-H', `Host: ${host}`, `http://127.0.0.1:${port}${path}`)
  const moved = await plain(`www.example.test:${port}`, '/a/b?c=d&e=%2f')
  test.match(moved, /^HTTP\/1.1 301/)
  test.match(moved, /^location: https:\/\/www\.example\.test\/a\/b\?c=d&e=%2f\r$/im)
  test.notMatch(moved, /strict-transport/i)
  test.match(
    await plain('[2001:db8::1]:8080', '//other.test/'),
    /^location: https:\/\/\[2001:db8::1\]\/\/other\.test\/\r$/im,
  )
  for (const host of ['', 'a@b', 'a/b', 'a b', 'a,b', 'a?b', 'a#b', 'a\\b'])
    test.match(await plain(host, '/evil.test'), /^HTTP\/1.1 400/, host)
  test.match(await curl('-0', '-H', 'Host:', `http://127.0.0.1:${port}/evil.test`), /^HTTP\/1.[01] 400/, 'no host')
  test.match(
    await curl('-X', 'OPTIONS', '--request-target', '*', '-H', 'Host: x.test', `http://127.0.0.1:${port}`),
    /^HTTP\/1.1 400/,
  )
})

t.test('HAProxy and the openssl program share one library, so they know the same suites', async (test) => {
  const library = async (program: string) =>
    /libssl\S* => (\S+)/.exec(await output('sh', '-c', `ldd "$(command -v ${program})"`))?.[1]
  test.match(await library('haproxy'), /libssl/)
  test.equal(await library('haproxy'), await library('openssl'))
})

t.test(
  'port 80 of a frontend with certificates redirects to its TLS port',
  { skip: getuid?.() !== 0 && 'needs root' },
  async (test) => {
    // An address of the loopback network that nothing else uses, so that others may bind port 80 as well.
    const ip = `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(2, 255)}`
    const { port } = await listening(test, [first], { ip, ports: '80,8443', httpRedirectToHttps: true, hsts: true })
    test.ok(port > 0)
    const get = (url: string, ...more: string[]) => output('curl', '-sik', '--max-time', '10', ...more, url)
    const moved = await get(`http://${ip}/a?b=c`, '-H', 'Host: www.example.test')
    test.match(moved, /^HTTP\/1.1 301/)
    test.match(moved, /^location: https:\/\/www\.example\.test:8443\/a\?b=c\r$/im)
    test.notMatch(moved, /strict-transport/i)
    const secure = await get(`https://${ip}:8443/`)
    test.match(secure, /^HTTP\/2 503/, 'no backend')
    test.match(secure, /strict-transport-security/i, 'an answer of HAProxy itself')
    test.match(await get(`https://${ip}:8443/`, '--http1.1'), /^HTTP\/1.1 503/)
  },
)
