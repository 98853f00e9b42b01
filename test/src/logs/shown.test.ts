import t from 'tap'
import type { LogQuery } from '../../../src/context/access-logs.ts'
import { cursorOf, cursorText, filterOf, shownLine } from '../../../src/logs/shown.ts'
import { frontend, realServer, refusalOf } from '../../fixtures/config.ts'
import { logRow } from '../../fixtures/log-rows.ts'
import { viewOf } from '../../fixtures/view.ts'

const GONE = '0199f3a0-0000-7000-8000-000000000001'
const running = viewOf({
  l7Frontends: [frontend('shop', null, { name: 'The shop' })],
  realServers: [
    realServer('web', { name: 'Web 1' }),
    realServer('a', { name: 'twice' }),
    realServer('b', { name: 'Twice' }),
  ],
})

t.test('a query in the terms of the store', async (test) => {
  const filter = (query: LogQuery) => filterOf(query, running)
  test.match(filter({ start: 1, end: 2, source: '::1' }), { from_ms: 1_000, to_ms: 2_000, source: '::1' })
  // HAProxy writes addresses in their shortest form.
  for (const [said, source] of [
    ['0:0:0:0:0:0:0:1', '::1'],
    ['2001:DB8:0::A', '2001:db8::a'],
    ['::FFFF:192.0.2.1', '::ffff:192.0.2.1'],
    ['::ffff:c000:201', '::ffff:192.0.2.1'],
    ['192.0.2.1', '192.0.2.1'],
  ] as const) {
    test.equal(filter({ source: said }).source, source, said)
  }
  test.strictSame(filter({ status: '5xx' }).statuses, { from: 500, to: 599 })
  test.strictSame(filter({ status: '404' }).statuses, { from: 404, to: 404 })
  test.strictSame(filter({ status: '500-503' }).statuses, { from: 500, to: 503 })
})

t.test('records are searched by id or by name, and lines of a deleted one by its id', async (test) => {
  for (const [said, frontendId] of [
    ['shop', 'shop'],
    ['the SHOP', 'shop'],
    [GONE, GONE],
  ] as const) {
    test.equal(filterOf({ frontendId: said }, running).frontend, frontendId, said)
  }
  for (const [said, server] of [
    ['web', 'web'],
    ['Web 1', 'web'],
    ['fallback', 'fallback'],
    [GONE, GONE],
  ] as const) {
    test.equal(filterOf({ server: said }, running).server, server, said)
  }
})

t.test('a query that no line can match is refused, with all reasons at once', async (test) => {
  const wrong = { start: 5, end: 1, status: '503-500', frontendId: 'nope', server: 'TWICE' }
  const { code, details } = await refusalOf(() => filterOf(wrong, running))
  test.equal(code, 'INVALID_QUERY')
  test.match(details.errors, [
    { field: 'end', code: 'OUT_OF_RANGE', message: 'must not be before start' },
    { field: 'status', code: 'OUT_OF_RANGE', message: 'must not end before it begins' },
    { field: 'frontendId', code: 'UNKNOWN_NAME', message: /there is no nope/ },
    { field: 'server', code: 'AMBIGUOUS_NAME' },
  ])
  test.ok(filterOf({ start: 5, end: 5 }, running))
})

t.test('a page can only begin where an answer said', async (test) => {
  test.strictSame(cursorOf(cursorText({ segment: 12, index: 7 })), { segment: 12, index: 7 })
  for (const wrong of ['x', '', cursorText({ segment: 1, index: -1 })]) {
    const { code, details } = await refusalOf(() => cursorOf(wrong))
    test.match({ code, details }, { code: 'INVALID_QUERY', details: { errors: [{ field: 'after' }] } })
  }
})

t.test('a line has the names of its records, and null for unmeasured values', async (test) => {
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
