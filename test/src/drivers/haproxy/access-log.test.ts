import t from 'tap'
import { logStatements } from '../../../../src/drivers/haproxy/access-log.ts'
import { renderConfig } from '../../../../src/drivers/haproxy/render.ts'
import { frontend } from '../../../fixtures/config.ts'
import { PATHS, viewOf } from './records.ts'

t.test('only frontends that log have statements, and only then there is a ring', async (test) => {
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
