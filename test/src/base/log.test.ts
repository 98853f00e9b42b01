import t from 'tap'
import { createLog, silentLog, strangersLog } from '../../../src/base/log.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

t.test('one JSON object per line, with time, level and message first', async (test) => {
  const lines: string[] = []
  const log = createLog((line) => lines.push(line))
  log.info('started', { port: 9443, tls: true, host: null })
  log.warn('odd')
  log.error('line\nbreak', { detail: 'a\n  at b' })
  test.equal(lines.length, 3)
  test.ok(lines.every((line) => line.endsWith('\n') && line.indexOf('\n') === line.length - 1))
  const [info, warn, error] = lines.map((line) => JSON.parse(line))
  test.same(Object.keys(info), ['time', 'level', 'message', 'port', 'tls', 'host'])
  test.match(info, { level: 'info', message: 'started', port: 9443, tls: true, host: null })
  test.match(info.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  test.match(warn, { level: 'warn', message: 'odd' })
  test.match(error, { level: 'error', message: 'line\nbreak', detail: 'a\n  at b' })
})

t.test('a field without a value is left out', async (test) => {
  const lines: string[] = []
  createLog((line) => lines.push(line)).info('m', { reason: undefined })
  test.notMatch(lines.join(''), /reason/)
})

t.test('the silent log accepts everything', async (test) => {
  test.doesNotThrow(() => silentLog.error('m', { a: 1 }))
})

t.test('text from outside is truncated, and a defect is logged in full', async (test) => {
  const lines: string[] = []
  const log = createLog((line) => lines.push(line))
  log.info('request', { path: 'x'.repeat(100_000) })
  log.error('defect', { detail: 'y'.repeat(10_000) })
  test.match(JSON.parse(lines[0] ?? ''), { path: `${'x'.repeat(512)}… (100000 characters)` })
  test.equal(JSON.parse(lines[1] ?? '').detail.length, 10_000)
})

t.test('of lines that strangers cause too often only the number is kept', async (test) => {
  const lines: string[] = []
  const clock = manualClock()
  const log = strangersLog(
    createLog((line) => lines.push(line)),
    clock,
  )
  for (let n = 0; n < 1_000; n++) log.info('request', { n })
  test.equal(lines.length, 100)
  clock.advance(1_000)
  log.warn('request', { n: 1_000 })
  log.warn('request', { n: 1_001 })
  test.equal(lines.length, 101)
  test.match(JSON.parse(lines[100] ?? ''), { level: 'warn', n: 1_000, leftOut: 900 })
  clock.advance(3_600_000)
  for (let n = 0; n < 200; n++) log.info('request', { n })
  test.equal(lines.length, 201)
  test.match(JSON.parse(lines[101] ?? ''), { leftOut: 1 })
  test.notOk('leftOut' in JSON.parse(lines[102] ?? ''))
})
