import { existsSync, readdirSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t from 'tap'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { daemonFixture } from '../fixtures/daemon.ts'

/** Returns the names in the certificate of a new connection: its subject and its issuer. */
function shown(port: number): Promise<{ readonly subject: string; readonly issuer: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      const { subject, issuer } = socket.getPeerCertificate()
      resolve({ subject: String(subject.CN), issuer: String(issuer.CN) })
      socket.end()
    })
    socket.on('error', reject)
  })
}

/** Sends a ping on a connection of its own. */
function ping(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', port, path: '/api/v1/ping', rejectUnauthorized: false, agent: false },
      (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode ?? 0))
      },
    )
    asked.on('error', reject)
    asked.end()
  })
}

t.test('the API presents the certificate that is chosen, replaced and reverted; no request fails', async (test) => {
  const daemon = await daemonFixture(test)
  const { port, node } = daemon
  const maker = certificateMaker(test)
  const authority = maker.pair({ name: 'Test Authority', isCa: true })
  const leaf = (name: string) => {
    const { cert, key } = maker.pair({ name, issuer: authority })
    return { cert, privateKey: key, otherCerts: [authority.cert] }
  }
  let isOver = false
  let served = 0
  const failures: unknown[] = []
  const clients = Array.from({ length: 3 }, async () => {
    while (!isOver) {
      await ping(port).then(
        (status) => (status === 200 ? (served += 1) : failures.push(status)),
        (error: unknown) => failures.push(error),
      )
    }
  })
  const choose = async (SSLCertificate: string) => {
    await daemon.data('PUT', `/${node}/system/userinterface`, { apiPort: port, SSLCertificate })
    await daemon.data('PUT', '/services/apply')
  }
  const own = await shown(port)
  const { id } = await daemon.data('POST', '/certificates/certs', { name: 'API', ...leaf('one.test') })
  await daemon.data('PUT', '/services/apply')
  test.same(await shown(port), own, 'not yet: it was only uploaded')
  await choose(id)
  test.same(await shown(port), { subject: 'one.test', issuer: 'Test Authority' })
  await daemon.data('PUT', `/certificates/certs/${id}`, leaf('two.test'))
  await daemon.data('PUT', '/services/apply')
  test.same(await shown(port), { subject: 'two.test', issuer: 'Test Authority' })
  const used = await daemon.call('DELETE', `/certificates/certs/${id}`)
  test.match(used.json, { code: 'IN_USE', data: { usage: [{}] } })
  isOver = true
  await Promise.all(clients)
  test.same(failures, [])
  test.ok(served > 20, `${served} requests`)

  await daemon.kill('SIGKILL')
  await daemon.start()
  test.same(await shown(daemon.port), { subject: 'two.test', issuer: 'Test Authority' }, 'also after a kill -9')
  test.same(
    readdirSync(join(daemon.state, 'tls')).filter((name) => name.startsWith('lent-')),
    [],
    'no private key is left behind',
  )
  await daemon.login()
  await daemon.data('PUT', `/${node}/system/userinterface`, { apiPort: daemon.port, SSLCertificate: '' })
  await daemon.data('PUT', '/services/apply')
  test.same(await shown(daemon.port), own)
  await daemon.data('DELETE', `/certificates/certs/${id}`)
  await daemon.data('PUT', '/services/apply')
  test.ok(existsSync(join(daemon.state, 'tls', 'api-certificate.pem')))
})
