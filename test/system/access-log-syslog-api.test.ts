import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import t from 'tap'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { type Daemon, daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { NO_LOSSES } from '../fixtures/log-rows.ts'
import { noRsyslog, rsyslog } from '../fixtures/rsyslog.ts'
import { freePort } from '../fixtures/traffic.ts'

/** Messages of events about syslog servers, up to the one with these words. */
async function eventsUntil(daemon: Daemon, words: string): Promise<string> {
  const headers = { authorization: `Bearer ${await daemon.login()}` }
  const path = '/api/v1/events?after=0&kinds=syslog'
  const asked = request({ host: '127.0.0.1', port: daemon.port, path, headers, rejectUnauthorized: false }).end()
  // Sound: a response event passes the message.
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  let text = ''
  // Leaving the loop destroys the answer.
  for await (const part of answer) {
    text += String(part)
    if (text.includes(words)) break
  }
  return text
}

t.test('one apply, and a daemon forwards to a server that wants to know it', { skip: noRsyslog }, async (test) => {
  const { pair } = certificateMaker(test)
  const root = pair({ name: 'collectors', isCa: true })
  const server = await rsyslog(test, { own: pair({ name: 'localhost', issuer: root }), ca: root.cert, asks: true })
  const daemon = await daemonFixture(test)
  const own = pair({ name: 'lb.test', issuer: root })
  const upload = { name: 'lb', cert: own.cert, privateKey: own.key }
  const { id: certificateId } = await daemon.data('POST', '/certificates/certs', upload)
  const settings = { host: 'localhost', port: server.port, caCertificate: root.cert, certificateId }
  await daemon.data('PUT', '/layer7proxy/syslog', settings)
  const port = await freePort()
  const { id } = await daemon.data('POST', '/layer7proxy/frontends', {
    name: 'shop',
    mode: 'http',
    ip: '127.0.0.1',
    ports: String(port),
    logs: { enabled: true, target: 'both' },
  })
  const { changes } = await daemon.data('GET', '/services/pending')
  test.match(
    changes.map(({ resource, effect }: { resource: string; effect: string }) => `${resource} ${effect}`).toSorted(),
    ['certificates runtime', 'l7Frontends reload', 'syslogServers runtime'],
  )
  await daemon.data('PUT', '/services/apply')
  const ask = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status
  test.equal(await ask('/first'), 503, 'it has no backend')
  const [first] = await server.received(1)
  const { frontendId, frontendName, status } = JSON.parse(first?.text.slice(1) ?? '')
  test.strictSame([first?.procid, frontendId, frontendName, status], [id, id, 'shop', 503])
  await server.kill()
  test.equal(await ask('/second'), 503)
  const warning = /the syslog server is unreachable; lines are waiting/
  await until(
    'the warning',
    async () => daemon.stderr,
    (said) => warning.test(said),
  )
  await server.start()
  test.match(await server.received(2), [{}, { text: /"\/second"/ }])
  const logs = await until(
    'the line in the store',
    () => daemon.call('GET', `/${daemon.node}/layer7proxy/logs`),
    ({ json }) => json.data.length === 2,
  )
  const told = await eventsUntil(daemon, '"state":"reached"')
  test.match(told, /event: syslog\ndata: .*"state":"unreachable","reason":"[^"]+"[^]*event: syslog\n/)
  test.match(logs.json.losses, { ...NO_LOSSES, uncertain: Number })
  test.notMatch(daemon.stderr, /PRIVATE KEY/)
})
