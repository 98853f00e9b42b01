import { once } from 'node:events'
import { connect as connectSocket } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import t from 'tap'
import { ValidationServer } from '../../src/acme/validation-server.ts'
import { silentLog } from '../../src/base/log.ts'
import type { L7Frontend } from '../../src/model/layer7.ts'
import { acmeAccount, acmeOrder } from '../fixtures/acme.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { backend, frontend, realServer } from '../fixtures/config.ts'
import { freePort, httpServer } from '../fixtures/traffic.ts'
import { viewOf } from '../fixtures/view.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'
import { SITE } from './acme-site.ts'

/** Frontends of every kind behind the inspection of the protocol: CAs are answered, clients keep their addresses. */

const PROMISED = { name: SITE, value: Buffer.alloc(32, 7).toString('base64url') }
const CLIENT = '198.51.100.7'

const { pair, record } = certificateMaker(t)
const shown = record('shown', pair({ name: SITE }))

const CASES: Readonly<Record<string, { more: Partial<L7Frontend>; greets: boolean }>> = {
  http: { more: {}, greets: false },
  tcp: { more: { mode: 'tcp', forwardFor: false }, greets: false },
  'behind a proxy': { more: { proxyProtocol: true }, greets: true },
  'behind a trusted proxy': { more: { proxyProtocol: ['127.0.0.1'] }, greets: true },
  'only another proxy is trusted': { more: { proxyProtocol: ['192.0.2.1'] }, greets: false },
}

for (const [name, { more, greets }] of Object.entries(CASES)) {
  t.test(name, async (test) => {
    const originPort = await httpServer(
      test,
      ({ headers }, answer) => void answer.end(String(headers['x-forwarded-for'])),
    )
    const port = await freePort()
    const progress = { of: '', orderUrl: 'https://ca.test/1', answers: [PROMISED] }
    const settings = { ports: String(port), certificates: ['shown'], forwardFor: true, ...more }
    const view = viewOf({
      acmeAccounts: [acmeAccount('a', { tlsPort: port })],
      acmeOrders: [acmeOrder('o', 'a', { challenge: 'tls-alpn-01', certificateId: 'shown', progress })],
      certificates: [shown],
      realServers: [realServer('r', { ip: '127.0.0.1', port: originPort })],
      l7Frontends: [frontend('f', 'b', settings)],
      l7Backends: [backend('b', ['r'], { mode: more.mode ?? 'http', healthCheck: { type: 'none' } })],
    })
    const { apply, paths } = haproxyFixture(test)
    test.match(await apply(undefined, view), { ok: true })
    const validations = new ValidationServer({ socket: paths.challengeSocket, agreed: view, log: silentLog })
    await validations.start()
    test.teardown(() => validations.close())

    const spoken = async (...ALPNProtocols: readonly string[]): Promise<TLSSocket> => {
      const socket = connectSocket(port, '127.0.0.1')
      if (greets) socket.write(`PROXY TCP4 ${CLIENT} 192.0.2.10 40000 443\r\n`)
      const tls = connect({ socket, servername: SITE, ALPNProtocols: [...ALPNProtocols], rejectUnauthorized: false })
      await once(tls, 'secureConnect')
      test.teardown(() => tls.destroy())
      return tls
    }
    const validated = (await spoken('acme-tls/1')).getPeerCertificate().raw
    test.match(validated.toString('hex'), '06082b0601050507011f0101ff', 'the CA sees the expected value')
    const tls = await spoken('http/1.1')
    test.equal(tls.getPeerCertificate().fingerprint256, shown.facts.fingerprint, 'a client sees the site')
    tls.write(`GET / HTTP/1.1\r\nHost: ${SITE}\r\nConnection: close\r\n\r\n`)
    let text = ''
    for await (const part of tls) text += String(part)
    const seen = more.mode === 'tcp' ? 'undefined' : greets ? CLIENT : '127.0.0.1'
    test.equal(
      text
        .split('\r\n\r\n')
        .at(-1)
        ?.replaceAll(/\r\n|^[0-9a-f]+\r\n/g, ''),
      seen,
      'with its own address',
    )
  })
}
