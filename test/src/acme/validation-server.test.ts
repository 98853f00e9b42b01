import { once } from 'node:events'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { ValidationServer } from '../../../src/acme/validation-server.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { AcmeOrder } from '../../../src/model/acme.ts'
import { acmeOrder } from '../../fixtures/acme.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { viewOf } from '../../fixtures/view.ts'

const VALUE = Buffer.alloc(32, 7).toString('base64url')
const underway = (more: Partial<NonNullable<AcmeOrder['progress']>>) =>
  acmeOrder('o', 'a', { challenge: 'tls-alpn-01', progress: { of: '', orderUrl: 'https://ca.test/1', ...more } })

async function fixture(test: Test) {
  const orders: AcmeOrder[] = []
  const socket = join(temporaryFolder(test, 'validations'), 'acme.sock')
  // Left by a daemon that was killed.
  writeFileSync(socket, '')
  const agreed = { list: (...section: Parameters<ReturnType<typeof viewOf>['list']>) => view().list(...section) }
  const view = () => viewOf({ acmeOrders: orders })
  const server = new ValidationServer({ socket, agreed: agreed as ReturnType<typeof viewOf>, log: silentLog })
  await server.start()
  test.teardown(() => server.close())
  const shown = async (servername: string, protocol = 'acme-tls/1') => {
    const tls = connect({ path: socket, servername, ALPNProtocols: [protocol], rejectUnauthorized: false })
    await once(tls, 'secureConnect')
    const { raw } = tls.getPeerCertificate()
    tls.destroy()
    return new X509Certificate(raw)
  }
  return { orders, socket, shown }
}

t.test('a handshake is answered with the expected value for its name', async (test) => {
  const { orders, shown, socket } = await fixture(test)
  test.equal(statSync(socket).mode & 0o777, 0o666, 'HAProxy has another account')
  orders.push(underway({ answers: [{ name: 'www.site.test', value: VALUE }] }))
  const certificate = await shown('WWW.site.test')
  test.equal(certificate.subjectAltName, 'DNS:www.site.test')
  test.equal(certificate.issuer, certificate.subject)
  const der = certificate.raw.toString('hex')
  // 1.3.6.1.5.5.7.1.31, critical, an octet string with an octet string of 32 bytes.
  test.match(der, `06082b0601050507011f0101ff04220420${'07'.repeat(32)}`)
  test.equal((await shown('www.site.test')).fingerprint256, certificate.fingerprint256, 'generated once')
})

t.test('no other name is answered', async (test) => {
  const { orders, shown } = await fixture(test)
  await test.rejects(shown('www.site.test'), 'nothing is ordered')
  orders.push(underway({ answers: [{ name: 'www.site.test', value: VALUE }] }))
  await test.rejects(shown('other.test'))
  await test.rejects(shown('www.site.test', 'http/1.1'))
})

t.test('a node that lags answers once it has read the expected value', async (test) => {
  const { orders, shown } = await fixture(test)
  orders.push(underway({}))
  const asked = shown('www.site.test')
  orders[0] = underway({ answers: [{ name: 'www.site.test', value: VALUE }] })
  test.equal((await asked).subjectAltName, 'DNS:www.site.test')
})

t.test('a daemon that cannot listen there starts all the same', async (test) => {
  const folder = temporaryFolder(test, 'validations')
  mkdirSync(join(folder, 'none'))
  const warned: string[] = []
  const server = new ValidationServer({
    socket: join(folder, 'missing', 'acme.sock'),
    agreed: viewOf({}),
    log: { warn: (message) => void warned.push(message) },
  })
  await server.start()
  server.close()
  test.same(warned, ['CAs get no answers by TLS-ALPN-01'])
})
