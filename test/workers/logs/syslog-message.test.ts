import t from 'tap'
import { frameOf } from '../../../workers/logs/syslog-message.ts'
import { logRow } from '../../fixtures/log-rows.ts'

const SENDER = { hostname: 'lb-1', nameOf: (_: string, id: string) => (id === 'shop' ? 'Der Läden' : undefined) }
const HEAD = '<134>1 2027-01-15T08:00:00.000Z lb-1 fulcrum shop access - '
const bodyOf = (frame: string) => frame.slice(frame.indexOf(HEAD) + HEAD.length)

t.test('a frame begins with its length and is ASCII', async (test) => {
  for (const format of ['structured', 'combined'] as const) {
    const frame = frameOf(logRow({ path: '/ü\n"\\]\u0000\u007f\ud83d\ude00\ufffd' }), format, SENDER)
    const [length, ...rest] = frame.split(' ')
    test.equal(rest.join(' ').length, Number(length))
    test.match(frame, /^\d+ [ -~]+$/)
    test.ok(rest.join(' ').startsWith(HEAD))
  }
})

t.test('structured is the line of a search', async (test) => {
  const frame = frameOf(logRow({ path: '/ü"', connect_ms: -1, headers: '{"A":"\u2028"}' }), 'structured', SENDER)
  test.match(bodyOf(frame), /"path":"\/\\u00fc\\""/)
  test.match(JSON.parse(bodyOf(frame)), {
    time: '2027-01-15T08:00:00.000Z',
    frontendId: 'shop',
    frontendName: 'Der Läden',
    serverName: null,
    path: '/ü"',
    connectTime: null,
    totalTime: 9,
    headers: { A: '\u2028' },
  })
})

t.test("combined is Apache's line", async (test) => {
  const body = (more: object) => bodyOf(frameOf(logRow({ bytesOut: 5, ...more }), 'combined', SENDER))
  const headers = JSON.stringify({ referer: 'https://a/"', 'USER-agent': 'x\\ü' })
  test.equal(
    body({ headers }),
    String.raw`192.0.2.7 - - [15/Jan/2027:08:00:00 +0000] "GET / HTTP/1.1" 200 5 "https://a/\"" "x\\\xc3\xbc"`,
  )
  test.equal(body({ method: '', status: -1 }), '192.0.2.7 - - [15/Jan/2027:08:00:00 +0000] "-" - 5 "-" "-"')
})

t.test('no message is longer than receivers accept, and it stays complete', async (test) => {
  const names = Array.from({ length: 18 }, (_, at) => `X-${at}-`.padEnd(64, 'h'))
  const wide = `x${'\u0001😀'.repeat(2_000)}`
  const headers = JSON.stringify(Object.fromEntries(names.map((name) => [name, wide.slice(0, 1_000)])))
  const row = logRow({ host: wide, path: `/${wide}`, method: wide, version: wide, headers })
  const nameOf = () => 'ü'.repeat(128)
  for (const format of ['structured', 'combined'] as const) {
    const frame = frameOf(row, format, { hostname: 'h'.repeat(255), nameOf })
    test.ok(frame.length <= 8_192 + 5, String(frame.length))
    if (format === 'structured')
      test.equal(JSON.parse(frame.slice(frame.indexOf('{'))).headers[names[17] ?? ''].length, 23)
  }
  const less = frameOf(logRow({ path: `/${'~'.repeat(9_000)}` }), 'structured', SENDER)
  test.equal(JSON.parse(bodyOf(less)).path.length, 512, 'only the necessary part is cut off')
})
