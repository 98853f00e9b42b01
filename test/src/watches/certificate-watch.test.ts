import t from 'tap'
import { CertificateWatch, certificatesIn, clientAuthoritiesIn } from '../../../src/watches/certificate-watch.ts'
import { silentLog } from '../../../src/base/log.ts'
import { acmeAccount, acmeOrder } from '../../fixtures/acme.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'
import { frontend, openStore } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { viewOf } from '../../fixtures/view.ts'

const DAY_MS = 86_400_000

t.test('each warning is given once, also over restarts; a new certificate starts again', async (test) => {
  const store = openStore(test)
  const clock = manualClock()
  const told: string[] = []
  const publish = (_: string, data: object) =>
    void told.push(`${Reflect.get(data, 'state')} ${Reflect.get(data, 'days')}`)
  const usedBy = ['user interface']
  let certificate = { name: 'API', fingerprint: 'a', notAfter: new Date(clock.now_ms() + 31.5 * DAY_MS), usedBy }
  const look = () =>
    new CertificateWatch({
      certificates: () => [certificate],
      store,
      events: { publish },
      clock,
      log: silentLog,
    }).look()
  await look()
  test.same(told, [])
  for (let day = 0; day < 34; day++) {
    clock.advance(DAY_MS)
    await look()
    await look()
  }
  test.same(told, ['expires 30', 'expires 14', 'expires 7', 'expires 1', 'expired 0'])
  certificate = { name: 'API', fingerprint: 'b', notAfter: new Date(clock.now_ms() + 3 * DAY_MS), usedBy }
  await look()
  test.equal(told.at(-1), 'expires 3', 'late, but once')
  await look()
  test.equal(told.length, 6)
})

t.test('it looks at its start, and no more after its end', async (test) => {
  const store = openStore(test)
  let looks = 0
  const certificates = () => {
    looks++
    return []
  }
  const watch = new CertificateWatch({
    certificates,
    store,
    events: { publish: () => undefined },
    clock: manualClock(),
    log: silentLog,
  })
  await watch.start()
  watch.close()
  test.equal(looks, 1)
})

t.test('every certificate of running is watched, with the names of its users', async (test) => {
  const { pair, record } = certificateMaker(test)
  const shown = record('shown', pair({ name: 'shown.test' }))
  const running = viewOf({
    certificates: [shown, { ...shown, id: 'spare', name: 'spare' }],
    l7Frontends: [frontend('f', null, { certificates: ['shown'] })],
    userInterfaces: [{ id: 'n', apiPort: 9443, ipId: '', SSLCertificate: 'shown', sshPort: 22, sshEnabled: true }],
  })
  test.match(certificatesIn(running), [
    { name: 'shown', fingerprint: shown.facts.fingerprint, usedBy: ['frontend f', 'user interface'] },
    { name: 'spare', usedBy: [] },
  ])
  test.equal(certificatesIn(running)[0]?.notAfter.toISOString(), shown.facts.validTo)
})

t.test('the authorities of clients are watched, each once', (test) => {
  const { pair } = certificateMaker(test)
  const [root, other] = [pair({ name: 'Root', isCa: true, days: 9 }), pair({ name: 'Other', isCa: true, days: 8 })]
  const asks = { certificates: ['c'], clientVerify: 'required' as const }
  const running = viewOf({
    l7Frontends: [
      frontend('f', null, { ...asks, clientCa: root.cert + other.cert }),
      frontend('g', null, { ...asks, clientCa: root.cert }),
      frontend('h', null, { ...asks, clientCa: root.cert, enabled: false }),
    ],
  })
  test.match(clientAuthoritiesIn(running), [
    { name: 'CN=Root in clientCa', fingerprint: /^[\dA-F]{2}:/, usedBy: ['frontend f', 'frontend g'], notAfter: Date },
    { name: 'CN=Other in clientCa', usedBy: ['frontend f'] },
  ])
  test.equal(clientAuthoritiesIn(running).length, 2)
  test.end()
})

t.test('one that an order renews is only reported when that fails', async (test) => {
  const { pair, record } = certificateMaker(test)
  const ordered = record('ordered', pair({ name: 'www.site.test', days: 6 }))
  const acmeOrders = [acmeOrder('o', 'a', { certificateId: 'ordered' })]
  const clock = manualClock(Date.parse(ordered.facts.validFrom))
  const told: object[] = []
  const watch = new CertificateWatch({
    certificates: () =>
      certificatesIn(viewOf({ certificates: [ordered], acmeAccounts: [acmeAccount('a')], acmeOrders })),
    store: openStore(test),
    events: { publish: (_, data) => void told.push(data) },
    clock,
    log: silentLog,
  })
  clock.advance(4.9 * DAY_MS)
  await watch.look()
  test.same(told, [])
  clock.advance(0.2 * DAY_MS)
  await watch.look()
  test.match(told, [{ state: 'expires', name: 'ordered', days: 1 }])
})
