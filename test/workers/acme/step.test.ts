import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { X509Certificate } from 'node:crypto'
import t from 'tap'
import type { AcmeStep, AcmeStepped } from '../../../src/model/acme.ts'
import { thumbprintOf } from '../../../src/rules/acme.ts'
import { stepOf } from '../../../workers/acme/step.ts'
import { acmeAccount } from '../../fixtures/acme.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'
import { freePort } from '../../fixtures/traffic.ts'
import { until } from '../../fixtures/until.ts'
import { pebbleFixture, type PebbleOptions } from '../../system/pebble.ts'

type Tap = Parameters<typeof pebbleFixture>[0]

async function fixture(test: Tap, more: Partial<PebbleOptions> = {}, account: Partial<AcmeStep['account']> = {}) {
  const httpPort = await freePort()
  const ca = await pebbleFixture(test, { httpPort, ...more })
  const own = acmeAccount('a', { directoryUrl: ca.directoryUrl, caCertificate: ca.root, ...account })
  const step = (progress: AcmeStep['progress'], changed: Partial<AcmeStep> = {}) => {
    const kind = { challenge: 'http-01', keyType: 'ec256' } as const
    return stepOf({ account: own, names: ['www.site.test'], ...kind, progress, allowsLoopback: true, ...changed })
  }
  /** Answers as a frontend does, or with something else. */
  const site = async (thumbprint = thumbprintOf(own)) => {
    const server = createServer((asked, answer) => answer.end(`${asked.url?.split('/').at(-1)}.${thumbprint}`))
    server.listen(httpPort, '127.0.0.1')
    await once(server, 'listening')
    test.teardown(() => server.close())
  }
  const ordered = async () => {
    const stepped = await step({})
    if (stepped.is !== 'ordered') throw new Error(JSON.stringify(stepped))
    return stepped
  }
  const decided = (progress: AcmeStep['progress']): Promise<AcmeStepped> =>
    until(
      'a decision',
      () => step(progress),
      ({ is }) => is !== 'waiting',
    )
  return { ...ca, own, step, site, ordered, decided }
}

t.test('from an order to a certificate, each step separately', async (test) => {
  const { site, ordered, decided } = await fixture(test)
  await site()
  const order = await ordered()
  const keyed = await decided(order)
  if (keyed.is !== 'keyed') throw new Error(JSON.stringify(keyed))
  const { privateKey } = keyed
  const issued = await decided({ ...order, privateKey })
  if (issued.is !== 'issued') throw new Error(JSON.stringify(issued))
  const certificate = new X509Certificate(issued.chain)
  test.equal(certificate.subjectAltName, 'DNS:www.site.test')
  test.match(
    await decided({ ...order, privateKey }),
    { is: 'issued', chain: issued.chain },
    'it can be requested again',
  )
})

t.test('a name that leads the CA elsewhere ends the order, with the reason', async (test) => {
  const { site, ordered, decided } = await fixture(test, { env: { PEBBLE_AUTHZREUSE: '0' } })
  await site('of somebody else')
  test.match(await decided(await ordered()), { is: 'failed', isOver: true, reason: /^www\.site\.test: unauthorized: / })
})

t.test('an order or an account that the CA does not know is over', async (test) => {
  const { step, ordered } = await fixture(test)
  const order = await ordered()
  test.match(await step({ ...order, orderUrl: `${order.orderUrl}x` }), { is: 'failed', isOver: true })
  test.match(await step({ ...order, accountUrl: `${order.accountUrl}x` }), { is: 'failed', isOver: true })
})

t.test('a CA that is down does not end an order', async (test) => {
  const { stop, ordered, step } = await fixture(test)
  const order = await ordered()
  await stop()
  test.match(await step(order), { is: 'failed', isOver: false, reason: /ECONNREFUSED/ })
})

t.test('an account that has to be bound is bound, and only with the right key', async (test) => {
  const hmacKey = 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W'
  const { own, ordered, step } = await fixture(
    test,
    { bindings: { 'kid-1': hmacKey } },
    { externalAccountBinding: { keyId: 'kid-1', hmacKey } },
  )
  test.match(await ordered(), { is: 'ordered' })
  const { externalAccountBinding: _, ...unbound } = own
  const account = { ...acmeAccount('b'), ...unbound, privateKey: acmeAccount('b').privateKey }
  test.match(await step({}, { account }), { is: 'failed', reason: /externalAccountRequired/ })
  const wrong = { ...account, externalAccountBinding: { keyId: 'kid-1', hmacKey: hmacKey.toLowerCase() } }
  test.match(await step({}, { account: wrong }), { is: 'failed', isOver: false })
})

t.test('keys are of the ordered kind', async (test) => {
  const { site, ordered, step, decided } = await fixture(test)
  await site()
  const order = await ordered()
  await decided(order)
  const bits = { ec256: 'prime256v1', ec384: 'secp384r1', rsa2048: 2048 } as const
  const { createPrivateKey } = await import('node:crypto')
  for (const keyType of ['ec256', 'ec384', 'rsa2048'] as const) {
    const keyed = await step(order, { keyType })
    if (keyed.is !== 'keyed') throw new Error(JSON.stringify(keyed))
    const { namedCurve, modulusLength } = createPrivateKey(keyed.privateKey).asymmetricKeyDetails ?? {}
    test.equal(namedCurve ?? modulusLength, bits[keyType])
  }
})

t.test("the CA's future finding is reported before it is asked to validate", async (test) => {
  const { ordered, step } = await fixture(test)
  const order = await ordered()
  for (const [challenge, name] of [
    ['tls-alpn-01', 'www.site.test'],
    ['dns-01', '_acme-challenge.www.site.test'],
  ] as const) {
    const promised = await step(order, { challenge })
    test.match(promised, { is: 'promised', answers: [{ name, value: /^[A-Za-z0-9_-]{43}$/ }] })
    test.same(await step(order, { challenge }), promised, 'the CA waits, and the answer stays')
  }
  const told = await step({ ...order, answers: [] }, { challenge: 'tls-alpn-01' })
  test.match(told, { is: 'waiting' }, 'now it validates')
})

t.test('a CA is shown nothing of names that were not ordered', async (test) => {
  const { pair } = certificateMaker(test)
  const root = pair({ name: 'root.test', isCa: true })
  const { cert, key } = pair({ name: 'ca.test', issuer: root, names: 'IP:127.0.0.1' })
  const asked: string[] = []
  const server = createTlsServer({ cert, key }, ({ url = '' }, answer) => {
    const { port } = server.address() as AddressInfo
    const at = (path: string) => `https://127.0.0.1:${port}/${path}`
    const said: Record<string, object> = {
      '/directory': { newNonce: at('nonce'), newAccount: at('account'), newOrder: at('new-order') },
      '/order': { status: 'pending', identifiers: [], authorizations: [at('authorization')], finalize: at('finalize') },
      '/authorization': {
        status: 'pending',
        identifier: { type: 'dns', value: 'bank.test; reboot' },
        challenges: [{ type: 'dns-01', url: at('challenge'), status: 'pending', token: 'token' }],
      },
    }
    asked.push(url)
    answer.writeHead(200, { 'replay-nonce': 'nonce', 'content-type': 'application/json' })
    answer.end(JSON.stringify(said[url] ?? {}))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const at = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const account = acmeAccount('a', { directoryUrl: `${at}/directory`, caCertificate: root.cert })
  const kind = { challenge: 'dns-01', keyType: 'ec256', allowsLoopback: true } as const
  const names = ['*.site.test']
  const progress = { orderUrl: `${at}/order`, accountUrl: `${at}/account/1` }
  test.match(await stepOf({ account, names, ...kind, progress }), {
    is: 'failed',
    isOver: true,
    reason: 'The CA asks for bank.test; reboot, which was not ordered',
  })
  test.match(await stepOf({ account, names, ...kind, progress: { ...progress, answers: [] } }), { is: 'failed' })
  test.notOk(asked.includes('/challenge'))
})
