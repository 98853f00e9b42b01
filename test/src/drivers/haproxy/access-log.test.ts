import t from 'tap'
import { logStatements } from '../../../../src/drivers/haproxy/access-log.ts'
import { renderConfig } from '../../../../src/drivers/haproxy/render.ts'
import { frontend } from '../../../fixtures/config.ts'
import { PATHS, viewOf } from './records.ts'

t.test('statements exist only for frontends with a log, and only then there is a ring', async (test) => {
  const logs = { enabled: true } as const
  test.ok(logStatements(frontend('f', null, { logs })).length > 0)
  test.strictSame(logStatements(frontend('f', null)), [])
  test.strictSame(logStatements(frontend('f', null, { logs: { enabled: true, format: 'off' } })), [])
  test.strictSame(logStatements(frontend('f', null, { logs, mode: 'tcp' })), [])
  const text = (more: object) => renderConfig(viewOf({ l7Frontends: [frontend('f', null, { logs, ...more })] }), PATHS)
  test.match(text({}), /^ring fulcrum-logs$/m)
  test.notMatch(text({ enabled: false }), /^ring/m)
  test.notMatch(text({ mode: 'tcp' }), /^ring/m)
})

t.test("a line names its targets, and always has the fields of Apache's format", async (test) => {
  const formatOf = (more: object) =>
    logStatements(frontend('f', null, { logs: { enabled: true, ...more } })).find((one) => one.startsWith('log-format'))
  test.match(formatOf({}), /^log-format "fulcrum1 %pid /)
  test.match(formatOf({ format: 'combined' }), /^log-format "fulcrum1 .* Referer=.* User-Agent=/, 'it is not forwarded')
  test.match(formatOf({ target: 'both' }), /^log-format "fulcrum1,both,structured %pid [^=]*$/)
  const combined = formatOf({ target: 'syslog', format: 'combined', headers: ['X', 'user-agent'] })
  test.match(combined, /^log-format "fulcrum1,syslog,combined %pid .* X=\S+ user-agent=\S+ Referer=\S+"$/)
})
