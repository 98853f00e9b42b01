import { hostname } from 'node:os'
import t, { type Test } from 'tap'
import type { SyslogAddress } from '../../workers/logs/syslog-connection.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { NO_LOSSES } from '../fixtures/log-rows.ts'
import { noRsyslog, rsyslog } from '../fixtures/rsyslog.ts'
import { forwardingTo, get, reader, send, site } from './access-log-fixture.ts'
import { untilHolds } from '../fixtures/until.ts'

/** Lines of a real HAProxy at a real syslog server. */

function authority(test: Test) {
  const { pair } = certificateMaker(test)
  const root = pair({ name: 'collectors', isCa: true })
  const own = pair({ name: 'localhost', issuer: root, names: 'DNS:localhost' })
  return { pair, root, own }
}

const plain = (port: number): SyslogAddress => ({ host: '127.0.0.1', port, tls: undefined })

t.test('over TLS, as JSON: the fields of a search, with secrets masked', { skip: noRsyslog }, async (test) => {
  const { root, own } = authority(test)
  const server = await rsyslog(test, { own, ca: root.cert })
  const address = { host: 'localhost', port: server.port, tls: { ca: root.cert, own: undefined } }
  const { haproxy, port } = await site(test, { enabled: true, target: 'both', headers: ['User-Agent', 'Cookie'] })
  const { rows, page } = reader(test, haproxy, undefined, address)
  await send(port, get('/a?b=c&token=geheim', 'User-Agent: curl/8\r\nCookie: sid=geheim\r\n'))
  const [message] = await server.received(1)
  test.match(message, {
    pri: '134',
    hostname: hostname(),
    app: 'fulcrum',
    procid: 'shop',
    msgid: 'access',
    text: /^-\{.*\}$/,
  })
  const [row] = await rows(1)
  test.match(JSON.parse(message?.text.slice(1) ?? ''), {
    time: new Date(row?.at_ms ?? 0).toISOString(),
    frontendId: 'shop',
    frontendName: 'The shop',
    backendName: null,
    serverId: 'web',
    path: '/a?b=c&token=**',
    status: 200,
    headers: { 'User-Agent': 'curl/8', Cookie: '**' },
  })
  test.strictSame((await page()).losses, NO_LOSSES)
})

t.test("in Apache's line format, and only to that server", { skip: noRsyslog }, async (test) => {
  const server = await rsyslog(test)
  const { haproxy, port } = await site(test, { enabled: true, format: 'combined', target: 'syslog' })
  const { page } = reader(test, haproxy, undefined, plain(server.port))
  await send(port, get('/a?pw=1', 'Referer: https://www.example.org/?token=geheim\r\nUser-Agent: "curl"\\8\r\n'))
  // HAProxy's threads write their lines in any order.
  await server.received(1)
  await send(port, 'nonsense\r\n\r\n')
  const [one, other] = (await server.received(2)).map(({ text }) => text)
  test.match(
    one,
    /^-127\.0\.0\.1 - - \[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000\] "GET \/a\?pw=1 HTTP\/1\.1" 200 \d+ "https:\/\/www\.example\.org\/\?token=\*\*" "\\"curl\\"\\\\8"$/,
  )
  test.match(other, /^-127\.0\.0\.1 - - \[[^\]]+\] "-" 400 \d+ "-" "-"$/)
  test.strictSame(await page(), { rows: [], isMore: false, losses: NO_LOSSES })
})

/** A line in Apache's format; the path that was asked for is its group. */
const COMBINED = /^-127\.0\.0\.1 - - \[[^\]]+\] "GET (\/\S*) HTTP\/1\.1" \d{3} \d+ "(?:[^"\\]|\\.)*" "(?:[^"\\]|\\.)*"$/

const HOSTILE = ['"', '\\', ']', '\u0007\u001b[2J', '\xff\xfe\x80', 'ü', '<0>1 - - - - - - x', "';--", '%0a%0d']

for (const format of ['structured', 'combined'] as const) {
  t.test(`any bytes from clients stay one message (${format})`, { skip: noRsyslog }, async (test) => {
    const server = await rsyslog(test)
    const names = Array.from({ length: 14 }, (_, at) => `X-${at}`)
    const headers = ['User-Agent', 'Referer', ...names]
    const { haproxy, port } = await site(test, { enabled: true, format, target: 'both', headers })
    const { rows, page } = reader(test, haproxy, undefined, plain(server.port))
    for (const [at, value] of HOSTILE.entries())
      await send(port, get(`/${at}`, `User-Agent: ${value}\r\nReferer: ${value}\r\n`))
    // Each of these bytes takes six in JSON; the whole is far more than rsyslog accepts.
    const long = names.map((name) => `${name}: ${'\u0001\xff"'.repeat(200)}\r\n`).join('')
    await send(port, get(`/${'~'.repeat(4_000)}`, `${long}User-Agent: <13>1 - evil evil - - -\r\n`))
    await send(port, get('/last'))
    const kept = await rows(HOSTILE.length + 2)
    test.strictSame((await page()).losses, NO_LOSSES)
    const messages = await server.received(kept.length)
    test.equal(messages.length, kept.length)
    for (const [at, { text, procid, msgid }] of messages.entries()) {
      test.strictSame([procid, msgid], ['shop', 'access'], text)
      const { path = '', headers: kinds = '' } = kept[at] ?? {}
      // The path and the headers of the long request are cut.
      const isLong = path.startsWith('/~')
      if (format === 'combined') {
        const [, asked = ''] = COMBINED.exec(text) ?? []
        test.ok(isLong ? /^\/~{24,}$/.test(asked) : asked === path, text)
        continue
      }
      const told = JSON.parse(text.slice(1))
      test.ok(isLong ? /^\/~{23,}$/.test(told.path) : told.path === path, told.path)
      const whole: Readonly<Record<string, string>> = JSON.parse(kinds)
      if (!isLong) test.same(told.headers, whole)
      else for (const [name, value] of Object.entries(whole)) test.ok(value.startsWith(told.headers[name]), name)
    }
    // HAProxy's threads write their lines in any order.
    test.ok(
      messages.some(({ text }) => text.includes('/last')),
      'and the request after it',
    )
  })
}

t.test(
  'a server that cannot authenticate gets nothing; lines wait for the right one',
  { skip: noRsyslog },
  async (test) => {
    const { pair, root, own } = authority(test)
    const server = await rsyslog(test, { own, ca: root.cert, asks: true })
    const other = pair({ name: 'others', isCa: true }).cert
    const address = (ca: string, host: string, client?: { cert: string; key: string }) =>
      ({ host, port: server.port, tls: { ca, own: client } }) satisfies SyslogAddress
    const { haproxy, port } = await site(test, { enabled: true, target: 'both' })
    const { thread, rows, page, states } = reader(test, haproxy, undefined, address(other, 'localhost'))
    const direct = (to: SyslogAddress | undefined) => thread.receive({ type: 'forward', forwarding: forwardingTo(to) })
    const refused = async (count: number, why: RegExp) => {
      await untilHolds(() => states.length === count)
      test.match(states.at(-1), { isReached: false, reason: why })
    }
    await send(port, get('/1'))
    await rows(1)
    await refused(1, /self.signed|unable to verify|issuer/)
    direct(address(root.cert, '127.0.0.1'))
    await refused(2, /does not match/)
    direct(address(root.cert, 'localhost'))
    // This server requires a client certificate.
    await refused(3, /./)
    direct({ host: 'localhost', port: server.port, tls: { ca: 'nonsense', own: undefined } })
    await refused(4, /./)
    test.strictSame(server.messages(), [])
    direct(address(root.cert, 'localhost', pair({ name: 'lb.test', issuer: root })))
    await send(port, get('/2'))
    test.match(await server.received(2), [{ text: /"path":"\/1"/ }, { text: /"path":"\/2"/ }])
    await untilHolds(() => states.at(-1)?.isReached === true)
    test.strictSame((await page()).losses, NO_LOSSES)
    await send(port, get('/3'))
    await server.received(3)
    direct(undefined)
    await send(port, get('/4'))
    await rows(4)
    test.equal(server.messages().length, 3)
  },
)
