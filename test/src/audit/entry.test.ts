import t from 'tap'
import type { Endpoint } from '../../../src/api/endpoint.ts'
import { auditEntry, nameOf, takenBackEntry } from '../../../src/audit/entry.ts'
import type { AuditedRequest } from '../../../src/http/audited.ts'
import { endpoints } from '../../../src/resources/index.ts'

const AT = '2026-01-02T03:04:05.000Z'

function request(name: string, more: Partial<AuditedRequest> = {}): AuditedRequest {
  const endpoint = endpoints.find((one) => one.name === name) as Endpoint
  const actor = { userId: 'u', email: 'a@b', sessionId: 's' }
  return { requestId: 'r', endpoint, actor, address: '192.0.2.1', method: 'PUT', path: '/p', query: '', ...more }
}

t.test('texts are bounded, and an unparsable query is left out', async (test) => {
  const long = 'x'.repeat(5_000)
  const entry = auditEntry(request('realServers.update', { path: long, query: long }), { status: 200 }, AT)
  test.match(entry, { at: AT, by: 'a@b', outcome: 'done', status: 200, path: 'x'.repeat(320), query: 'x'.repeat(320) })
  const refused = auditEntry(
    request('realServers.update', { query: 'token=S' }),
    { status: 422, code: 'INVALID_QUERY' },
    AT,
  )
  test.notOk('query' in refused)
  test.match(refused, { outcome: 'refused', code: 'INVALID_QUERY' })
})

t.test('for a forwarded request, each node names the other one', async (test) => {
  const here = auditEntry(request('power.halt', { forwardedTo: 'lb2' }), { status: 503, code: 'NODE_UNREACHABLE' }, AT)
  test.match(here, { forwardedTo: 'lb2', outcome: 'refused', status: 503, code: 'NODE_UNREACHABLE' })
  test.notOk('forwardedBy' in here)
  const there = auditEntry(request('power.halt', { forwardedBy: 'lb1' }), { status: 200 }, AT)
  test.match(there, { forwardedBy: 'lb1', outcome: 'done' })
  test.notOk('forwardedTo' in there)
})

t.test('of many or large changes, some are recorded and the others counted', async (test) => {
  const change = (n: number, size: number) => ({
    section: 'realServers' as const,
    id: `${n}`,
    before: undefined,
    after: { id: `${n}`, name: 'n'.repeat(size), ip: '192.0.2.1', port: 1, weight: 1, state: 'online' as const },
  })
  const many = auditEntry(
    request('realServers.create', { changes: Array.from({ length: 150 }, (_, n) => change(n, 1)) }),
    { status: 201 },
    AT,
  )
  test.match(many, { moreChanges: 50 })
  const large = auditEntry(request('realServers.create', { changes: [change(1, 20_000)] }), { status: 201 }, AT)
  test.match(large, { changes: [{ leftOut: /characters of before and after/ }] })
})

t.test('an apply records what it made live, not only its request', async (test) => {
  const told = [
    { op: 'update', resource: 'realServers', resourceId: 'r1', name: 'web1', by: 'olga@b' },
    { op: 'delete', resource: 'l7Frontends', resourceId: 'f1', name: 'shop', by: 'otto@b' },
  ] as const
  const applied = (more: number) =>
    auditEntry(request('services.apply', { isBegun: true, wentLive: { revision: 7, told, more } }), { status: 200 }, AT)
  test.match(applied(0), { by: 'a@b', outcome: 'done', revision: 7, live: told })
  test.notOk('moreLive' in applied(0))
  test.match(applied(3), { moreLive: 3 })
  const refused = auditEntry(request('services.apply'), { status: 422, code: 'CONFIG_INVALID' }, AT)
  test.notOk('live' in refused)
})

t.test('a login is recorded under the user, or under the attempted name', async (test) => {
  const login = (more: Partial<AuditedRequest>) => nameOf(request('auth.login', more))
  test.equal(login({ body: { email: 'tried@b' } }), 'tried@b')
  test.equal(login({ body: 5 }), '')
  test.equal(login({ body: {}, cameIn: { name: 'in@b', via: 'radius', ended: ['old'] } }), 'in@b')
  const entry = auditEntry(
    request('auth.login', { cameIn: { name: 'in@b', via: 'password', ended: ['old'] } }),
    { status: 200 },
    AT,
  )
  test.match(entry, { by: 'in@b', via: 'password', endedSessions: ['old'] })
})

t.test('a revert by the daemon is recorded under the endpoint with which users revert', async (test) => {
  const { endpoint, method, path } = takenBackEntry({ revision: 3, told: [], more: 0 }, AT)
  test.match(path, /^\/api\/v1\//, 'as users send it')
  test.match(
    endpoints.find(({ name }) => name === endpoint),
    { method, path: String(path).replace(/^\/api\/v1/, '') },
  )
})
