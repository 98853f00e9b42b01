import t from 'tap'
import { NO_RAW } from '../../src/model/l7-raw.ts'
import { readHaproxy } from '../../workers/probe/haproxy.ts'
import { runProgram } from '../../workers/host/linux-host.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { backend, frontend, realServer } from '../fixtures/config.ts'
import { freePort } from '../fixtures/traffic.ts'
import { viewOf } from '../fixtures/view.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'
import { origin } from './asked-haproxy.ts'

/** HTTP/3 as curl requests it, where both this HAProxy and this curl support it. */

/** The last that a client would choose. */
const SUITE = 'TLS_AES_128_GCM_SHA256'

const haproxy = await readHaproxy('haproxy', runProgram)
const { output } = await runProgram(['curl', '--version'], 10_000)
const obstacle =
  haproxy?.hasQuic !== true
    ? `HAProxy ${haproxy?.version} has no QUIC`
    : /HTTP3/.test(output)
      ? false
      : 'curl has no HTTP/3'

t.test('a site answers over HTTP/3, and announces it over TCP', { skip: obstacle }, async (test) => {
  const { apply } = haproxyFixture(test)
  const maker = certificateMaker(test)
  const port = await freePort()
  const view = viewOf({
    realServers: [realServer('web', { ip: '127.0.0.1', port: await origin(test, 'web') })],
    l7Backends: [backend('web', ['web'])],
    certificates: [maker.record('www', maker.pair({ name: 'www.test' }))],
    cipherLists: [{ id: 'one', name: 'one', ciphers: [SUITE] }],
    l7Frontends: [
      frontend('fe', 'web', {
        ports: `${port}`,
        certificates: ['www'],
        http3: true,
        minTls: '1.3',
        cipherListId: 'one',
      }),
    ],
    l7Raw: [
      {
        id: 'cluster',
        ...NO_RAW,
        frontends: [{ id: 'fe', lines: ['http-after-response set-header X-Suite %[ssl_fc_cipher]'] }],
      },
    ],
  })
  test.match(await apply(undefined, view), { ok: true })
  const asked = async (...flags: readonly string[]) =>
    (await runProgram(['curl', '-sik', ...flags, `https://127.0.0.1:${port}/`], 20_000)).output
  const told = await asked('--http2')
  test.match(told, /^HTTP\/2 200/)
  test.match(told, new RegExp(`^alt-svc: h3=":${port}"; ma=86400`, 'im'))
  test.match(told, new RegExp(`^x-suite: ${SUITE}`, 'im'))
  const answer = await asked('--http3-only')
  test.match(answer, /^HTTP\/3 200[^]*"at":"web"/)
  test.match(answer, new RegExp(`^x-suite: ${SUITE}`, 'im'), 'the cipher list is in force')
})
