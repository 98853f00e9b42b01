import t from 'tap'
import type { LogsPage } from '../../workers/logs/messages.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { noRsyslog, rsyslog, type SyslogMessage } from '../fixtures/rsyslog.ts'
import { get, load, reader, readerApart, send, site } from './access-log-fixture.ts'
import { until, untilHolds } from '../fixtures/until.ts'

/** kill -9 of the syslog server and of the forwarder: nothing is sent twice, and missing messages are counted. */

/** No message waits long in the server. */
const isFresh = (message: SyslogMessage | undefined): boolean =>
  Date.now() - Date.parse(JSON.parse(message?.text.slice(1) ?? '{}').time) < 500

const missed = ({ losses }: LogsPage): number => losses.unforwarded + losses.uncertain

const LOGS = { enabled: true, target: 'both' } as const

t.test(
  'kill -9 of the server under load: HAProxy and the store go on, missing lines are counted',
  { skip: noRsyslog },
  async (test) => {
    const { pair } = certificateMaker(test)
    const root = pair({ name: 'collectors', isCa: true })
    const server = await rsyslog(test, { own: pair({ name: 'localhost', issuer: root }), ca: root.cert })
    const { haproxy, port } = await site(test, LOGS)
    const address = { host: 'localhost', port: server.port, tls: { ca: root.cert, own: undefined } }
    const { rows, page } = reader(test, haproxy, undefined, address)
    const running = load(test, port, 4)
    for (let round = 1; round <= 3; round++) {
      const before = server.count()
      await untilHolds(() => server.count() > before + 200 && isFresh(server.messages().at(-1)))
      await server.kill()
      const answered = running.answered()
      await untilHolds(() => running.answered() > answered + 200)
      const written = server.count()
      await server.start()
      await untilHolds(() => server.count() > written)
    }
    const answered = await running.stop()
    test.equal((await rows(answered)).length, answered, 'the store has all lines')
    await send(port, get('/last'))
    await untilHolds(() => server.messages().some(({ text }) => text.includes('"/last"')))
    const { losses } = await page()
    const texts = server.messages().map(({ text }) => text)
    test.equal(new Set(texts).size, texts.length, 'no line twice')
    test.equal(losses.unforwarded, 0)
    test.ok(
      texts.length <= answered + 1 && texts.length + losses.uncertain >= answered + 1,
      `${texts.length}, ${losses.uncertain} of ${answered}`,
    )
  },
)

t.test(
  'kill -9 of the forwarder at any moment: no line twice, and missing lines are counted',
  { skip: noRsyslog },
  async (test) => {
    const server = await rsyslog(test)
    const { haproxy, port } = await site(test, LOGS)
    const address = { host: '127.0.0.1', port: server.port, tls: undefined }
    const running = load(test, port, 4)
    let missing = 0
    for (let round = 1; round <= 4; round++) {
      const { kill, page } = await readerApart(test, haproxy, address)
      const [seen, before] = [running.answered(), server.count()]
      // Each kill comes at another point of a write.
      await untilHolds(() => running.answered() > seen + 37 * round && server.count() > before + 37 * round)
      missing += missed(await page())
      await kill()
    }
    const answered = await running.stop()
    const last = reader(test, haproxy, undefined, address)
    test.equal((await last.rows(answered)).length, answered)
    await send(port, get('/last'))
    await untilHolds(() => server.messages().some(({ text }) => text.includes('"/last"')))
    missing += missed(await last.page())
    // Messages sent before a kill may be read after later ones.
    await untilHolds(() => server.count() + missing > answered)
    const texts = server.messages().map(({ text }) => text)
    test.equal(new Set(texts).size, texts.length, 'no line twice')
    test.ok(texts.length <= answered + 1, `${texts.length}, ${missing} of ${answered}`)
  },
)

t.test(
  'lines that wait when the daemon is killed are counted by the next daemon',
  { skip: noRsyslog },
  async (test) => {
    const server = await rsyslog(test)
    await server.kill()
    const { haproxy, port } = await site(test, LOGS)
    const address = { host: '127.0.0.1', port: server.port, tls: undefined }
    const first = await readerApart(test, haproxy, address)
    for (let at = 0; at < 30; at++) await send(port, get(`/${at}`))
    await until('30 rows', first.page, ({ rows }) => rows.length === 30)
    await first.kill()
    await server.start()
    const { page, stop } = reader(test, haproxy, undefined, address)
    await send(port, get('/later'))
    test.match(await server.received(1), [{ text: /"\/later"/ }])
    test.equal(missed(await page()), 30)
    await stop()
    const again = reader(test, haproxy, undefined, address)
    test.equal(missed(await again.page()), 0, 'counted once')
    test.equal(server.messages().length, 1)
  },
)
