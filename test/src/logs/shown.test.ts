import t from 'tap'
import { cursorOf, cursorText, filterOf, shownLine } from '../../../src/logs/shown.ts'
import { frontend, refusalOf } from '../../fixtures/config.ts'
import { logRow } from '../../fixtures/log-rows.ts'
import { viewOf } from '../../fixtures/view.ts'

t.test('a query in the words of the store', async (test) => {
  test.match(filterOf({ start: 1, end: 2, frontendId: 'f' }), { from_ms: 1_000, to_ms: 2_000, frontend: 'f' })
  test.strictSame(filterOf({ status: '5xx' }).statuses, { from: 500, to: 599 })
  test.strictSame(filterOf({ status: '404' }).statuses, { from: 404, to: 404 })
  test.strictSame(filterOf({ status: '500-503' }).statuses, { from: 500, to: 503 })
})

t.test('where a page begins can only be what was answered', async (test) => {
  test.strictSame(cursorOf(cursorText({ segment: 12, index: 7 })), { segment: 12, index: 7 })
  for (const wrong of ['x', '', cursorText({ segment: 1, index: -1 })]) {
    const { code, details } = await refusalOf(() => cursorOf(wrong))
    test.match({ code, details }, { code: 'INVALID_QUERY', details: { errors: [{ field: 'after' }] } })
  }
})

t.test('a line has the names of its records, and null for what was not measured', async (test) => {
  const running = viewOf({ l7Frontends: [frontend('shop', null, { name: 'The shop' })] })
  const row = logRow({ backend: '', server: '', connect_ms: -1, headers: '{"X-A":"y"}' })
  test.match(shownLine({ segment: 3, index: 4, row }, running), {
    id: '3-4',
    time: '2027-01-15T08:00:00.000Z',
    frontendName: 'The shop',
    backendId: null,
    serverId: null,
    serverName: null,
    connectTime: null,
    totalTime: 9,
    headers: { 'X-A': 'y' },
  })
})
