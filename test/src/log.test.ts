import t from 'tap'
import { createLog, silentLog } from '../../src/log.ts'

t.test('one JSON object a line, with time, level and message first', async (test) => {
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

t.test('the silent log takes everything', async (test) => {
  test.doesNotThrow(() => silentLog.error('m', { a: 1 }))
})
