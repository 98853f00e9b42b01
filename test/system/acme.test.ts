import t from 'tap'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { type Daemon, daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { freePort } from '../fixtures/traffic.ts'
import { acmeSite, SITE } from './acme-site.ts'
import { pebbleFixture } from './pebble.ts'
import { ask } from './plain-haproxy.ts'
import { output } from './tls-frontend.ts'

const worker = async (daemon: Daemon) =>
  /^Pid: (\d+)$/m.exec(await ask(`${daemon.state}/haproxy/master.sock`, '@1 show info'))?.[1]

t.test('a certificate is issued and renewed without a reload, and staged changes stay pending', async (test) => {
  const httpPort = await freePort()
  // Every third nonce is refused for no reason, as RFC 8555 allows.
  const ca = await pebbleFixture(test, { httpPort, env: { PEBBLE_WFE_NONCEREJECT: '33' } })
  const daemon = await daemonFixture(test)
  const { id, order, issuer, certificateId } = await acmeSite(daemon, ca, httpPort)
  test.match(await order(), { state: 'pending', nextTry: null, nextRenewal: null })
  await daemon.data('PUT', '/services/apply')
  const before = await worker(daemon)
  const staged = { name: 'staged', ip: '127.0.0.1', port: 9 }
  const { id: ripId } = await daemon.data('POST', '/ipvsDirector/rips', staged)

  const valid = await until('the certificate', order, ({ state, lastError }) => {
    if (lastError !== null) throw new Error(lastError)
    return state === 'valid'
  })
  test.match(valid, { failures: 0, issuedAt: String, nextRenewal: String, nextTry: String })
  test.match(await issuer(), /^Pebble Intermediate/)
  test.equal(await worker(daemon), before, 'HAProxy was not reloaded')
  const { changes } = await daemon.data('GET', '/services/pending')
  test.match(changes, [{ resourceId: ripId }], 'staged changes stay pending')
  test.equal(changes.length, 1)
  const certificate = await daemon.data('GET', `/certificates/certs/${certificateId}`)
  test.same(certificate.certInfo.subjectAlt.toSorted(), ['api.site.test', SITE])
  const life = (Date.parse(certificate.validTo) - Date.parse(certificate.validFrom)) * (2 / 3)
  test.equal(Date.parse(valid.nextRenewal), Math.floor(Date.parse(certificate.validFrom) + life))

  await daemon.data('PUT', `/certificates/acme/orders/${id}/renew`)
  const renewed = () => daemon.data('GET', `/certificates/certs/${certificateId}`)
  const next = await until('another one', renewed, ({ fingerprint }) => fingerprint !== certificate.fingerprint)
  test.not(next.privateKey, certificate.privateKey, 'with another key')
  await until('its end', order, ({ state }) => state === 'valid')
  test.equal(await worker(daemon), before)
  for (const secret of [next.privateKey, certificate.privateKey]) {
    const line = secret.split('\n')[1]
    test.notOk(daemon.stderr.includes(line) || daemon.stdout.includes(line), 'no private key in a log')
  }
})

t.test('challenges are answered for ordered names only, before any redirect', async (test) => {
  const httpPort = await freePort()
  const ca = {
    directoryUrl: `https://127.0.0.1:${await freePort()}/dir`,
    root: certificateMaker(test).pair({ name: 'root.test', isCa: true }).cert,
  }
  const daemon = await daemonFixture(test)
  const { accountId, order } = await acmeSite(daemon, ca, httpPort)
  await daemon.data('PUT', '/services/apply')
  const { thumbprint } = await daemon.data('GET', `/certificates/acme/accounts/${accountId}`)
  const asked = (host: string, token: string) =>
    output(
      'curl',
      '-s',
      '--path-as-is',
      '-H',
      `Host: ${host}`,
      `http://127.0.0.1:${httpPort}/.well-known/acme-challenge/${token}`,
    )
  test.equal(await asked(SITE, 'a-Token_1'), `a-Token_1.${thumbprint}`)
  test.equal(await asked(`${SITE.toUpperCase()}:80`, 'x'), `x.${thumbprint}`)
  for (const [host, token] of [
    ['other.test', 'x'],
    [SITE, '<script>'],
    [SITE, 'a%2f..'],
    [SITE, ''],
    [SITE, 'a/b'],
  ] as const) {
    test.notMatch(await asked(host, token), thumbprint, `${host} ${token}`)
  }
  const failing = await until('the failure', order, ({ failures }) => failures === 1)
  test.match(failing, { state: 'failing', lastError: /ECONNREFUSED/, nextRenewal: null })
  const wait_ms = Date.parse(failing.nextTry) - Date.now()
  test.ok(wait_ms > 200_000 && wait_ms <= 300_000, 'it is not retried immediately')
})
