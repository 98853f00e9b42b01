import t from 'tap'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { freePort } from '../fixtures/traffic.ts'
import { ask } from './plain-haproxy.ts'
import { client, output, subjectOf } from './tls-frontend.ts'

t.test('from a PFX file to a handshake, and another certificate under the same id without a reload', async (test) => {
  const { pair, pfx } = certificateMaker(test)
  const daemon = await daemonFixture(test)
  const first = { pfx: pfx(pair({ name: 'first.test', key: 'rsa:2048' }), 'secret', '-legacy'), password: 'secret' }
  const { id } = await daemon.data('POST', '/certificates/certs', { name: 'www', ...first })
  const { tls13, tls12 } = await daemon.data('GET', '/ciphers')
  test.ok(tls13.includes('TLS_AES_128_GCM_SHA256') && tls12.includes('ECDHE-RSA-AES128-GCM-SHA256'))
  const ciphers = ['TLS_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES128-GCM-SHA256']
  const { cipherListID } = await daemon.data('POST', '/ciphers/lists', { name: 'few', ciphers })
  const port = await freePort()
  const tls = { certificates: [id], cipherListId: cipherListID, hsts: 60 }
  await daemon.data('POST', '/layer7proxy/frontends', {
    name: 'fe',
    mode: 'http',
    ip: '127.0.0.1',
    ports: String(port),
    ...tls,
  })
  await daemon.data('PUT', '/services/apply')
  test.equal(subjectOf(await client(port)), 'first.test')
  test.match(await output('curl', '-sik', `https://127.0.0.1:${port}/`), /strict-transport-security: max-age=60/i)
  const worker = async () => /^Pid: (\d+)$/m.exec(await ask(`${daemon.state}/haproxy/master.sock`, '@1 show info'))?.[1]
  const before = await worker()
  const { cert, key } = pair({ name: 'second.test' })
  await daemon.data('PUT', `/certificates/certs/${id}`, { cert, privateKey: key })
  const { changes } = await daemon.data('GET', '/services/pending')
  test.match(changes, [{ resource: 'certificates', effect: 'runtime', after: { privateKey: '**' } }])
  await daemon.data('PUT', '/services/apply')
  test.equal(subjectOf(await client(port)), 'second.test')
  test.match(before, /^\d+$/)
  test.equal(await worker(), before)
  test.equal((await daemon.data('GET', `/certificates/certs/${id}`)).certInfo.commonName, 'second.test')
})
