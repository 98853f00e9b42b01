import t from 'tap'
import { frontendStatements } from '../../../../src/drivers/haproxy/frontend.ts'
import { textOf } from '../../../../src/drivers/haproxy/statement.ts'
import { httpsStatements, needsDhParameters, portRanges } from '../../../../src/drivers/haproxy/tls.ts'
import type { L7Frontend } from '../../../../src/model/layer7.ts'
import { frontend } from '../../../fixtures/config.ts'
import { FOLDERS, viewOf } from './records.ts'

const cipherLists = [
  { id: 'both', name: 'both', ciphers: ['TLS_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256', 'AES128-SHA'] },
  { id: 'old', name: 'old', ciphers: ['ECDHE-RSA-AES128-GCM-SHA256'] },
  { id: 'new', name: 'new', ciphers: ['TLS_AES_128_GCM_SHA256'] },
]
const view = viewOf({ cipherLists })
const tls = (more: Partial<L7Frontend>) => frontend('f', null, { ports: '443', certificates: ['a', 'b'], ...more })
const text = (more: Partial<L7Frontend>) => textOf(frontendStatements(tls(more), view, FOLDERS))
const rules = (more: Partial<L7Frontend>) => httpsStatements(tls(more)).map(([line]) => line)

t.test('with certificates all ports speak TLS 1.2 and later, http with h2', async (test) => {
  const bind = 'ssl crt-list /certs/f.list alpn h2,http/1.1 ssl-min-ver TLSv1.2'
  test.match(text({ ports: '443,8443-8450' }), `bind 127.0.0.1:443 ${bind}\n    bind 127.0.0.1:8443-8450 ${bind}\n`)
  test.match(text({ mode: 'tcp' }), 'bind 127.0.0.1:443 ssl crt-list /certs/f.list ssl-min-ver TLSv1.2\n')
  test.match(text({ ip: '::' }), 'bind [::]:443 v6only ssl')
  test.notMatch(text({ certificates: [] }), 'ssl')
})

t.test('suites of TLS 1.3 and of earlier versions are distinguished', async (test) => {
  test.match(
    text({ cipherListId: 'both' }),
    'ssl-min-ver TLSv1.2 ciphers ECDHE-RSA-AES128-GCM-SHA256:AES128-SHA ciphersuites TLS_AES_128_GCM_SHA256\n',
  )
  test.match(text({ cipherListId: 'new', minTls: '1.3' }), 'ssl-min-ver TLSv1.3 ciphersuites TLS_AES_128_GCM_SHA256\n')
  test.match(
    text({ cipherListId: 'old' }),
    'ssl-min-ver TLSv1.2 ssl-max-ver TLSv1.2 ciphers ECDHE-RSA-AES128-GCM-SHA256\n',
    'a list without TLS 1.3 does not speak it',
  )
  test.match(text({ cipherListId: null }), 'ssl-min-ver TLSv1.2\n')
})

t.test('HTTP/3 has the suites of TLS 1.3', async (test) => {
  const quic = 'alpn h3 ssl-min-ver TLSv1.3'
  test.match(text({ http3: true }), `${quic}\n`)
  test.match(text({ http3: true, cipherListId: 'both' }), `${quic} ciphersuites TLS_AES_128_GCM_SHA256\n`)
})

t.test('suites with finite-field Diffie-Hellman need parameters', async (test) => {
  const lists = [{ id: 'dh', name: 'dh', ciphers: ['DHE-RSA-AES128-GCM-SHA256'] }, ...cipherLists]
  const needs = (more: Partial<L7Frontend>) => needsDhParameters([tls(more)], viewOf({ cipherLists: lists }))
  test.equal(needs({ cipherListId: 'dh' }), true)
  for (const more of [{ cipherListId: 'dh', enabled: false }, { cipherListId: 'old' }, {}])
    test.equal(needs(more), false)
})

t.test('versions before 1.2 need weak signatures', async (test) => {
  test.match(text({ minTls: '1.0' }), 'ssl-min-ver TLSv1.0 ciphers DEFAULT:@SECLEVEL=0\n')
  test.match(text({ minTls: '1.1', cipherListId: 'old' }), 'ciphers ECDHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0\n')
})

t.test('port 80 stays plain when it redirects to https, and no other', async (test) => {
  const ports = (listed: string, more: Partial<L7Frontend> = {}) =>
    portRanges(tls({ ports: listed, httpRedirectToHttps: true, ...more })).map(
      ({ first, last, isTls }) => `${first}-${last}${isTls ? ' tls' : ''}`,
    )
  test.same(ports('80,443'), ['80-80', '443-443 tls'])
  test.same(ports('70-90'), ['70-79 tls', '80-80', '81-90 tls'])
  test.same(ports('80-81'), ['80-80', '81-81 tls'])
  test.same(ports('443,8080'), ['443-443 tls', '8080-8080 tls'])
  test.same(ports('80', { httpRedirectToHttps: false }), ['80-80 tls'])
  test.same(ports('80,81', { certificates: [] }), ['80-80', '81-81'])
})

t.test('the redirect leads to the first TLS port, preferably 443', async (test) => {
  const target = (more: Partial<L7Frontend>) =>
    rules({ httpRedirectToHttps: true, ...more }).find((line) => line.includes('redirect')) ?? ''
  const host = 'https://%[req.fhdr(host),host_only]'
  const start = 'http-request redirect code 301 location '
  test.equal(target({ ports: '80,443' }), `${start}${host}%[pathq] if !{ ssl_fc }`)
  test.equal(target({ ports: '80,8443,9443' }), `${start}${host}:8443%[pathq] if !{ ssl_fc }`)
  test.equal(target({ ports: '80,8443,400-500' }), `${start}${host}%[pathq] if !{ ssl_fc }`)
  test.equal(
    target({ ports: '80', certificates: [] }),
    `${start}${host}%[pathq]`,
    'without certificates every port redirects',
  )
  test.same(rules({ httpRedirectToHttps: false }), [])
})

t.test('hsts: true is a year, a number so many seconds, 0 and false none; never without TLS', async (test) => {
  const age = (hsts: L7Frontend['hsts'], more: Partial<L7Frontend> = {}) =>
    rules({ ...(hsts === undefined ? {} : { hsts }), ...more }).map((line) => /max-age=(\d+)/.exec(line)?.[1])
  test.same(age(true), ['31536000'])
  test.same(age(300), ['300'])
  for (const none of [false, 0, undefined]) test.same(age(none), [])
  test.same(age(true, { certificates: [] }), [])
  test.match(rules({ hsts: true }), [/^http-after-response .* if \{ ssl_fc \}$/])
})

t.test("with forwardFor, X-Forwarded-Proto has the client's protocol", async (test) => {
  test.match(rules({ forwardFor: true }), [/X-Forwarded-Proto https if \{ ssl_fc \}/, /X-Forwarded-Proto http if !/])
  test.same(rules({ forwardFor: true, certificates: [] }), [], 'as before where TLS was never used')
})
