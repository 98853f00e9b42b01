import { once } from 'node:events'
import { connect, createServer as createTcpServer } from 'node:net'
import t from 'tap'
import { noSmtpServer, type Posted, smtpServer, webhookReceiver } from '../fixtures/alert-targets.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { type Daemon, daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { freePort, originAt } from '../fixtures/traffic.ts'

/** Alerts of a real daemon about a real HAProxy, at targets that come and go. */

async function site(daemon: Daemon, port: number) {
  const rip = await daemon.data('POST', '/ipvsDirector/rips', { name: 'web 1', ip: '127.0.0.1', port })
  const healthCheck = { type: 'tcp', interval: 1, rise: 1, fall: 1 }
  const reals = [{ ripId: rip.id }]
  await daemon.data('POST', '/layer7proxy/backends', { name: 'shop', mode: 'http', reals, healthCheck })
  return async () => (await daemon.data('GET', `/ipvsDirector/rips/${rip.id}`)).health
}

// oxlint-disable-next-line typescript/no-explicit-any -- bodies are looked into
const told = (posts: readonly Posted[]): readonly any[] => posts.map(({ body }) => JSON.parse(body))
const ALERTS = '/alerts'

type OfTarget = { readonly targetName: string }
const byTarget = (a: OfTarget, b: OfTarget): number => a.targetName.localeCompare(b.targetName)

t.test('kill -9 between firing and delivery: the next start sends alert and end once each', async (test) => {
  const { pair } = certificateMaker(test)
  const root = pair({ name: 'of receivers', isCa: true })
  const own = pair({ name: 'localhost', issuer: root })
  const daemon = await daemonFixture(test)
  const [port, hook] = [await freePort(), await freePort()]
  const stop = await originAt(port)
  const health = await site(daemon, port)
  const target = { name: 'room', type: 'webhook', url: `https://localhost:${hook}/hook`, caCertificate: root.cert }
  await daemon.data('POST', '/alerts/targets', target)
  const rule = { name: 'down', severity: 'critical', when: { type: 'serverDown', names: 'shop/*' } }
  await daemon.data('POST', '/alerts/rules', { ...rule, for: 1, clearFor: 1, targets: [{ name: 'room' }] })
  await daemon.data('PUT', '/services/apply')
  await until('it is up', health, (now) => now === 'up')
  await stop()
  const waits = (one: { lastError: string | null }) => one.lastError?.includes('ECONNREFUSED') === true
  await until('nobody takes it', async () => (await daemon.data('GET', '/alerts/deliveries'))[0], waits)
  const [before] = await daemon.data('GET', ALERTS)
  test.match(before, { state: 'firing', objectName: 'shop/web 1', deliveries: [{ outcome: 'waiting' }] })
  await daemon.kill('SIGKILL')
  await daemon.start()
  await daemon.login()
  test.match((await daemon.data('GET', ALERTS))[0], { id: before.id, since: before.since, state: 'firing' })
  const receiver = await webhookReceiver(test, own, undefined, hook)
  const [first] = told(await receiver.received(1))
  test.match(first, { id: before.deliveries[0].messageId, phase: 'firing', severity: 'critical', count: 1 })
  test.match(first.alerts, [{ id: before.id, objectName: 'shop/web 1', text: /is down: its health checks fail/ }])
  test.teardown(await originAt(port))
  const [, second, ...more] = told(await receiver.received(2))
  test.match(second, { phase: 'resolved', alerts: [{ id: before.id }] })
  test.same(more, [], 'each message once')
  test.match((await daemon.data('GET', ALERTS))[0], { state: 'resolved' })
})

t.test('a target that hangs delays neither the daemon nor another target', { skip: noSmtpServer }, async (test) => {
  const daemon = await daemonFixture(test)
  const own = certificateMaker(test).pair({ name: 'localhost' })
  const mail = await smtpServer(test, { way: 'tcp', own })
  // It accepts the connection and sends nothing.
  const silent = createTcpServer(() => undefined).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  test.teardown(() => void silent.close())
  const { port: hung } = silent.address() as { readonly port: number }
  const common = { from: 'lb@corp.test', to: ['duty@corp.test'], transport: 'tcp', host: '127.0.0.1' }
  await daemon.data('POST', '/alerts/targets', { ...common, name: 'hangs', type: 'mail', port: hung })
  await daemon.data('POST', '/alerts/targets', { ...common, name: 'mail', type: 'mail', port: mail.port })
  const port = await freePort()
  await daemon.data('POST', '/layer7proxy/frontends', { name: 'open', mode: 'tcp', ip: '127.0.0.1', ports: `${port}` })
  // All five clients below, however few of them the first look finds.
  const when = { type: 'threshold', object: 'frontend', metric: 'currentSessions', value: 4, names: 'OPEN' }
  const targets = [{ name: 'hangs' }, { name: 'mail' }]
  await daemon.data('POST', '/alerts/rules', { name: 'many sessions', when, for: 0, clearFor: 0, targets })
  await daemon.data('PUT', '/services/apply')
  const backend = await daemon.data('POST', '/layer7proxy/backends', { name: 'sink', mode: 'tcp', reals: [] })
  const sink = createTcpServer(() => undefined).listen(0, '127.0.0.1')
  await once(sink, 'listening')
  const { port: sinkPort } = sink.address() as { readonly port: number }
  const rip = await daemon.data('POST', '/ipvsDirector/rips', { name: 'sink', ip: '127.0.0.1', port: sinkPort })
  await daemon.data('PUT', `/layer7proxy/backends/${backend.id}`, { reals: [{ ripId: rip.id }] })
  const [{ id }] = await daemon.data('GET', '/layer7proxy/frontends?name=open')
  await daemon.data('PUT', `/layer7proxy/frontends/${id}`, { defaultBackendId: backend.id })
  await daemon.data('PUT', '/services/apply')
  const clients = Array.from({ length: 5 }, () => connect(port, '127.0.0.1').on('error', () => undefined))
  test.teardown(() => {
    for (const client of clients) client.destroy()
    sink.close()
  })
  await until(
    'the mail is there',
    async () => mail.mails().length,
    (count) => count > 0,
  )
  test.match(mail.mails()[0]?.text.replaceAll('=\r\n', ''), /currentSessions of open is 5, above 4/)
  // The daemon counts the message once the mail server's answer has arrived, a moment after that server has the mail.
  const [hangs, sent] = await until(
    'it is counted',
    async () => (await daemon.data('GET', '/alerts/deliveries')).toSorted(byTarget),
    ([, { delivered }]) => delivered === 1,
  )
  test.match(hangs, { targetName: 'hangs', waiting: 1, delivered: 0 })
  test.match(sent, { targetName: 'mail', waiting: 0 })
  for (const client of clients) client.destroy()
  await until(
    'its end as well',
    async () => mail.mails().length,
    (count) => count > 1,
  )
  test.match(mail.mails()[1]?.text, /Subject: \[warning\] Resolved: many sessions: open/)
  test.equal(await daemon.kill('SIGTERM'), 0, 'nor does it delay the end of the daemon')
})
