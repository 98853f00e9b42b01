import t from 'tap'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { freePort } from '../fixtures/traffic.ts'
import { acmeSite, SITE } from './acme-site.ts'
import { pebbleFixture } from './pebble.ts'

t.test('a name that leads the CA elsewhere fails with the reason, and succeeds once it is mended', async (test) => {
  const [httpPort, elsewhere] = [await freePort(), await freePort()]
  // The CA connects to another port than that of the site.
  const ca = await pebbleFixture(test, { httpPort: elsewhere, env: { PEBBLE_AUTHZREUSE: '0' } })
  const daemon = await daemonFixture(test)
  const { id, order, issuer, plain } = await acmeSite(daemon, ca, httpPort)
  await daemon.data('PUT', '/services/apply')
  const failing = await until('the failure', order, ({ state }) => state === 'failing')
  test.match(failing, { failures: 1, lastError: /www\.site\.test: connection: /, issuedAt: null })
  test.match(await issuer(), SITE, 'the old certificate is still presented')
  await daemon.data('PUT', `/layer7proxy/frontends/${plain}`, { ports: `${httpPort},${elsewhere}` })
  await daemon.data('PUT', '/services/apply')
  await daemon.data('PUT', `/certificates/acme/orders/${id}/renew`)
  await until('the certificate', order, ({ state }) => state === 'valid')
  test.match(await issuer(), /^Pebble Intermediate/)
})

t.test('kill -9 at any moment: the open order is resumed, and no other is created', async (test) => {
  const httpPort = await freePort()
  // The CA is slow, so that there are moments for a kill.
  const ca = await pebbleFixture(test, { httpPort, env: { PEBBLE_VA_NOSLEEP: '0', PEBBLE_VA_SLEEPTIME: '2' } })
  const daemon = await daemonFixture(test)
  const { order, issuer } = await acmeSite(daemon, ca, httpPort)
  await daemon.data('PUT', '/services/apply')
  for (let kills = 0; kills < 3; kills += 1) {
    const states = kills === 0 ? ['underway'] : ['underway', 'valid']
    await until('the order', order, ({ state }) => states.includes(state))
    await daemon.kill('SIGKILL')
    await daemon.start()
    await daemon.login()
  }
  test.match(await until('the certificate', order, ({ state }) => state === 'valid'), { failures: 0 })
  test.match(await issuer(), /^Pebble Intermediate/)
  test.equal(ca.log().match(/Added order/g)?.length, 1)
  test.equal(ca.log().match(/Issued certificate/g)?.length, 1)
})

t.test('while the CA is down, the old certificate is presented; afterwards the order continues', async (test) => {
  const httpPort = await freePort()
  const ca = await pebbleFixture(test, { httpPort })
  const daemon = await daemonFixture(test)
  const { id, order, issuer, certificateId } = await acmeSite(daemon, ca, httpPort)
  await daemon.data('PUT', '/services/apply')
  await until('the certificate', order, ({ state }) => state === 'valid')
  const first = (await daemon.data('GET', `/certificates/certs/${certificateId}`)).fingerprint
  await ca.stop()
  await daemon.data('PUT', `/certificates/acme/orders/${id}/renew`)
  test.match(await until('the failure', order, ({ failures }) => failures === 1), { lastError: /ECONNREFUSED/ })
  test.match(await issuer(), /^Pebble Intermediate/)
  // The CA has forgotten everything, so the account is created again.
  await ca.start()
  await daemon.data('PUT', `/certificates/acme/orders/${id}/renew`)
  const now = () => daemon.data('GET', `/certificates/certs/${certificateId}`)
  await until('another certificate', now, ({ fingerprint }) => fingerprint !== first)
  test.match(await until('its end', order, ({ state }) => state === 'valid'), { failures: 0, lastError: null })
})
