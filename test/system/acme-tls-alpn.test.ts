import { once } from 'node:events'
import { get } from 'node:https'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { type Daemon, daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { freePort, httpServer } from '../fixtures/traffic.ts'
import { accountAt, SITE } from './acme-site.ts'
import { pebbleFixture, type PebbleOptions } from './pebble.ts'
import { ask } from './plain-haproxy.ts'
import { client } from './tls-frontend.ts'

/** Certificates by TLS-ALPN-01, through the HAProxy that serves the same names that the CA validates. */

const worker = async (daemon: Daemon) =>
  /^Pid: (\d+)$/m.exec(await ask(`${daemon.state}/haproxy/master.sock`, '@1 show info'))?.[1]

async function site(test: Test, env: PebbleOptions['env'] = {}) {
  const tlsPort = await freePort()
  const ca = await pebbleFixture(test, { httpPort: await freePort(), tlsPort, env })
  const daemon = await daemonFixture(test)
  const port = await httpServer(test, ({ headers }, answer) => void answer.end(String(headers['x-forwarded-for'])))
  const origin = { name: 'origin', ip: '127.0.0.1', port }
  const { id: ripId } = await daemon.data('POST', '/ipvsDirector/rips', origin)
  const behind = { name: 'behind', mode: 'http', reals: [{ ripId }] }
  const { id: defaultBackendId } = await daemon.data('POST', '/layer7proxy/backends', behind)
  const accountId = await accountAt(daemon, ca, { tlsPort })
  const ordered = { name: 'site', accountId, names: [SITE, 'api.site.test'], challenge: 'tls-alpn-01' }
  const refused = await daemon.call('POST', '/certificates/acme/orders', { body: ordered })
  // The names are already served, with a certificate from elsewhere.
  const { cert, key: privateKey } = certificateMaker(test).pair({ name: SITE })
  const shown = { name: 'shown', cert, privateKey }
  const { id: certificateId } = await daemon.data('POST', '/certificates/certs', shown)
  await daemon.data('POST', '/layer7proxy/frontends', {
    name: 'tls',
    mode: 'http',
    ip: '127.0.0.1',
    ports: String(tlsPort),
    certificates: [certificateId],
    defaultBackendId,
  })
  await daemon.data('PUT', '/services/apply')
  const { id } = await daemon.data('POST', '/certificates/acme/orders', { ...ordered, certificateId })
  const order = () => daemon.data('GET', `/certificates/acme/orders/${id}`)
  const valid = () =>
    until('the certificate', order, ({ state, lastError }) => {
      if (lastError !== null) throw new Error(lastError)
      return state === 'valid'
    })
  const issuer = async () => /^issuer=.*CN ?= ?(.*)$/m.exec(await client(tlsPort, '-servername', SITE))?.[1]
  return { ca, daemon, id, order, valid, issuer, refused, tlsPort, certificateId }
}

interface Seen {
  readonly status: number
  readonly issuer: string
  readonly body: string
}

/** Sends one request over a connection of its own. */
function asked(port: number): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, servername: SITE, headers: { host: SITE } }
    get({ ...options, agent: false, rejectUnauthorized: false }, (answer) => {
      // Sound: a request over https has a TLS socket.
      const { issuer } = (answer.socket as ReturnType<typeof connect>).getPeerCertificate()
      let body = ''
      answer.setEncoding('utf8').on('data', (text: string) => (body += text))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, issuer: String(issuer.CN), body }))
    }).on('error', reject)
  })
}

/** Clients that connect repeatedly until they are stopped. */
function load(port: number, clients: number) {
  const [seen, failed]: [Map<string, number>, string[]] = [new Map(), []]
  let isStopped = false
  const running = Array.from({ length: clients }, async () => {
    while (!isStopped) {
      try {
        const { status, issuer } = await asked(port)
        if (status === 200) seen.set(issuer, (seen.get(issuer) ?? 0) + 1)
        else failed.push(String(status))
      } catch (error) {
        failed.push(String(error))
      }
    }
  })
  const stop = async () => {
    isStopped = true
    await Promise.all(running)
    return { seen, failed }
  }
  return { seen, stop }
}

t.test('a name is validated while it is served: no reload, and no client fails or sees another name', async (test) => {
  // The CA takes a second, so that clients connect in between.
  const { daemon, id, order, valid, issuer, refused, tlsPort, certificateId } = await site(test, {
    PEBBLE_VA_NOSLEEP: '0',
    PEBBLE_VA_SLEEPTIME: '1',
    PEBBLE_AUTHZREUSE: '0',
  })
  test.match(refused.json, {
    code: 'INVALID_BODY',
    errors: [{ field: 'challenge', message: new RegExp(`^tls-alpn-01 needs .* port ${tlsPort} and TLS`) }],
  })
  const clients = load(tlsPort, 4)
  // The only reload, which puts the inspection of the protocol in front.
  await daemon.data('PUT', '/services/apply')
  const before = await worker(daemon)
  await valid()
  test.match(await issuer(), /^Pebble Intermediate/)
  const first = (await daemon.data('GET', `/certificates/certs/${certificateId}`)).fingerprint
  await daemon.data('PUT', `/certificates/acme/orders/${id}/renew`)
  const now = () => daemon.data('GET', `/certificates/certs/${certificateId}`)
  await until('another one', now, ({ fingerprint }) => fingerprint !== first)
  await until('its end', order, ({ state }) => state === 'valid')
  const { seen, failed } = await clients.stop()
  test.same(failed, [], 'no client failed')
  test.equal(await worker(daemon), before, 'HAProxy was not reloaded')
  const issuers = [...seen.keys()]
  test.ok(issuers.every((name) => name === SITE || name.startsWith('Pebble Intermediate')))
  const requests = [...seen.values()].reduce((sum, count) => sum + count, 0)
  test.comment(`${requests} connections`)
  test.equal((await asked(tlsPort)).body, '127.0.0.1', "the client's own address")

  const spoken = async (servername: string, ...more: readonly string[]) => {
    const options = { host: '127.0.0.1', port: tlsPort, servername, ALPNProtocols: ['acme-tls/1', ...more] }
    const socket = connect({ ...options, rejectUnauthorized: false })
    try {
      await once(socket, 'secureConnect')
      return socket.getPeerCertificate().subjectaltname
    } catch {
      return undefined
    } finally {
      socket.destroy()
    }
  }
  test.equal(await spoken(SITE), undefined, 'the validation certificate is no longer presented')
  test.match(await spoken('other.test', 'http/1.1'), `DNS:${SITE}`, 'like for any other client')
})

t.test('kill -9 during validation: the order is resumed, and the site continues to serve', async (test) => {
  const { ca, daemon, id, valid, order, issuer, tlsPort } = await site(test, {
    PEBBLE_VA_NOSLEEP: '0',
    PEBBLE_VA_SLEEPTIME: '2',
  })
  await daemon.data('PUT', '/services/apply')
  const clients = load(tlsPort, 2)
  for (let kills = 0; kills < 3; kills += 1) {
    await until('the order', order, ({ state }) => state === 'underway' || (kills > 0 && state !== 'waiting'))
    await daemon.kill('SIGKILL')
    await daemon.start()
    await daemon.login()
  }
  // A daemon that is killed during a handshake has answered wrongly: the next attempt is another order.
  const { state, lastError } = await until('what came of it', order, (now) => ['valid', 'failing'].includes(now.state))
  if (state === 'failing') {
    test.match(lastError, /Failed to connect|reset|EOF/)
    await daemon.data('PUT', `/certificates/acme/orders/${id}/renew`)
  }
  await until('the try', order, (now) => now.state !== 'failing')
  test.match(await valid(), { failures: 0 })
  test.match(await issuer(), /^Pebble Intermediate/)
  test.equal(ca.log().match(/Added order/g)?.length, state === 'failing' ? 2 : 1)
  test.equal(ca.log().match(/Issued certificate/g)?.length, 1)
  test.same((await clients.stop()).failed, [])
})
