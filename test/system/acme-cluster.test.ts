import t from 'tap'
import { type ClusterDaemon, ClusterDaemons, form, hostOf, join } from '../fixtures/cluster-daemons.ts'
import { allVote, die } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'
import { freePort } from '../fixtures/traffic.ts'
import { acmeSite, SITE } from './acme-site.ts'
import { pebbleFixture } from './pebble.ts'
import { output } from './tls-frontend.ts'

t.test('one node of a cluster works on an order, each answers the CA, and others can take over', async (test) => {
  const daemons = await ClusterDaemons.begin(test, { isBeside: true })
  if (typeof daemons === 'string') {
    test.pass(`# SKIP ${daemons}`)
    return
  }
  const [first, second, third] = [await daemons.start(), await daemons.start(), await daemons.start()]
  const httpPort = await freePort()
  const hosts = { [SITE]: hostOf(first.address), 'api.site.test': hostOf(second.address) }
  const ca = await pebbleFixture(test, { httpPort, hosts })
  const ordersMade = () => ca.log().match(/Added order/g)?.length
  await form(first, 'left')
  await first.daemon.login()
  for (const [node, name] of [
    [second, 'middle'],
    [third, 'right'],
  ] as const) {
    const joined = await join(node, name, first)
    test.equal(joined.status, 200, joined.text)
  }
  await allVote(first, 3)
  const { id, certificateId, port, order } = await acmeSite(first.daemon, ca, httpPort)
  await first.daemon.data('PUT', '/services/apply')
  await until('the certificate', order, ({ state }) => state === 'valid')
  test.equal(ordersMade(), 1)
  const shownBy = async (node: ClusterDaemon) => {
    const where = ['-connect', `${hostOf(node.address)}:${port}`, '-servername', SITE]
    return /-----BEGIN[^]*?END CERTIFICATE-----/.exec(await output('openssl', 's_client', ...where))?.[0]
  }
  const certificateOf = ({ daemon }: ClusterDaemon) => daemon.data('GET', `/certificates/certs/${certificateId}`)
  const { chain, fingerprint } = await certificateOf(first)
  for (const node of [first, second, third]) {
    const isIt = (shown: string | undefined) => shown !== undefined && chain.startsWith(shown)
    await until('the certificate there', () => shownBy(node), isIt)
    const state = async () => (await node.daemon.data('GET', `/certificates/acme/orders/${id}`)).state
    await until('what is known of it', state, (known) => known === 'valid')
  }

  await die(third)
  await second.daemon.data('PUT', `/certificates/acme/orders/${id}/renew`)
  const certificate = () => certificateOf(first)
  await until('another certificate', certificate, (now) => now.fingerprint !== fingerprint)
  await until('its end', order, ({ state }) => state === 'valid')
  test.equal(ordersMade(), 2)
})
