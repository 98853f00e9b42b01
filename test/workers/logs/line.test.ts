import t from 'tap'
import { numberOf, rowOf, wayOf } from '../../../workers/logs/line.ts'
import { logLine, logRow } from '../../fixtures/log-rows.ts'

t.test('a line is a number and a row', async (test) => {
  const words = logLine(12, '/a?token=s', ' X-A=eA== X-B=-').split(' ')
  test.strictSame(numberOf(words), { pid: 4711, frontend: 'shop', number: 12 })
  const expected = { at_ms: 1_800_000_000_264, path: '/a?token=**', headers: '{"X-A":"x"}', bytesOut: 812 }
  test.strictSame(rowOf(words), logRow(expected))
})

t.test('its first word names its target', async (test) => {
  const of = (mark: string) => {
    const words = logLine(12, '/')
      .replace(/^fulcrum1/, mark)
      .split(' ')
    return [numberOf(words)?.number, wayOf(words[0])]
  }
  test.strictSame(of('fulcrum1'), [12, { isStored: true, format: undefined }])
  test.strictSame(of('fulcrum1,both,structured'), [12, { isStored: true, format: 'structured' }])
  test.strictSame(of('fulcrum1,syslog,combined'), [12, { isStored: false, format: 'combined' }])
  test.equal(of('fulcrum12,syslog,combined')[0], undefined)
})

t.test('unset and unread values are empty', async (test) => {
  const line =
    'fulcrum1 4711 0 shop 1800000000 250 0 -1 -1 -1 -1 -1 0 shop <NOSRV> 192.0.2.7 40000 400 0 0 PR-- <BADREQ> <BADREQ> - -'
  const nothing = { backend: '', server: '', method: '', version: '', host: '', path: '', headers: '{}' }
  test.match(rowOf(line.split(' ')), { ...nothing, at_ms: 1_800_000_000_250, status: 400, connect_ms: -1 })
})

t.test('an invalid request has no version, whichever version of the daemon configured its line', (test) => {
  const words = logLine(1, '/').split(' ')
  for (const [word, version] of [
    ['HTTP/2.0', 'HTTP/2.0'],
    ['HTTP/-', ''],
    ['<BADREQ>', ''],
  ] as const)
    test.equal(rowOf(words.with(22, word))?.version, version, word)
  test.end()
})

t.test('other lines are not ours, and a truncated one is unreadable', async (test) => {
  for (const line of ['', '3 events dropped', 'Proxy shop stopped', 'fulcrum1 x 1 shop', 'fulcrum1 1'])
    test.equal(numberOf(line.split(' ')), undefined, line)
  const words = logLine(1, '/').split(' ')
  for (let length = 4; length < words.length - 1; length++) test.equal(rowOf(words.slice(0, length)), undefined)
  test.equal(rowOf(words.with(4, 'x')), undefined)
})
