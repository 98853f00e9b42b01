import { mkdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { SideTable } from '../../../storage/config/config-store.ts'
import { checkAudit } from '../../../storage/audit/check.ts'
import { segmentsIn } from '../../../storage/audit/segments.ts'
import { Audit, auditFolder, knownHead } from '../../../src/audit/audit.ts'
import { checkState } from '../../../src/daemon/check.ts'
import { Events } from '../../../src/events/events.ts'
import { defer } from '../../../src/base/deferred.ts'
import { silentLog } from '../../../src/base/log.ts'
import { endpoints } from '../../../src/resources/index.ts'
import { InlinePool } from '../../../src/threads/worker-pool.ts'
import * as computeTasks from '../../../workers/compute.ts'
import { ADMIN, applianceFixture } from '../../fixtures/appliance.ts'
import { backend, openStore, realServer } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

/** Events go to the disk after `mayWrite`. */
function fixture(test: Test, mayWrite = async () => {}) {
  const store = openStore(test)
  const stateFolder = temporaryFolder(test, 'audit')
  const clock = manualClock()
  const write: SideTable['write'] = (...rows) => mayWrite().then(() => store.events.write(...rows))
  const events = new Events({ ...store.events, write }, clock, silentLog)
  const audit = new Audit({
    days: 90,
    store,
    stateFolder,
    clock,
    log: silentLog,
    events,
    compute: new InlinePool(computeTasks),
  })
  const request = (name: string, more: object = {}) => {
    const endpoint = endpoints.find((candidate) => candidate.name === name)
    if (endpoint === undefined) throw new Error(`no endpoint ${name}`)
    const actor = { userId: 'u', email: 'a@b', sessionId: 's' }
    return { requestId: 'r-1', endpoint, actor, address: '192.0.2.1', method: 'PUT', path: '/x', query: '', ...more }
  }
  return { audit, store, clock, events, stateFolder, request }
}

t.test('an entry has the user, the time, the source, the action and its result', async (test) => {
  const { audit, request, store } = fixture(test)
  await audit.record(request('dateTime.update', { body: { dateTime: 'now' } }), {})
  await audit.record(
    request('realServers.update', {
      changes: [{ section: 'realServers', id: 'r', before: realServer('r'), after: realServer('r', { weight: 5 }) }],
    }),
    { status: 200 },
  )
  await audit.record(request('realServers.update', { query: 'a=1' }), { status: 422, code: 'INVALID_BODY' })
  const [refused, done, begun] = await audit.search({ limit: 10 })
  test.match(begun, { seq: 1, by: 'a@b', address: '192.0.2.1', outcome: 'begun', body: { dateTime: 'now' } })
  test.match(done, {
    outcome: 'done',
    status: 200,
    changes: [{ resourceId: 'r', before: { weight: 100 }, after: { weight: 5 } }],
  })
  test.match(refused, { outcome: 'refused', status: 422, code: 'INVALID_BODY', query: undefined })
  await audit.close()
  test.match(knownHead(store), { seq: 3 })
})

t.test('an address is found however it is written', async (test) => {
  const { audit, request } = fixture(test)
  for (const address of ['2001:db8::a', '192.0.2.1'])
    await audit.record(request('realServers.update', { address }), { status: 200 })
  const found = async (address: string) => (await audit.search({ limit: 10, address })).map((entry) => entry['address'])
  for (const written of ['2001:db8::a', '2001:DB8:0::A']) test.same(await found(written), ['2001:db8::a'], written)
  for (const written of ['192.0.2.1', '::ffff:192.0.2.1']) test.same(await found(written), ['192.0.2.1'], written)
  await audit.close()
})

t.test('no request is answered before its events are on the disk', async (test) => {
  const opened = defer()
  const { audit, request, events, store } = fixture(test, () => opened.promise)
  events.publish('apply', { state: 'applied', revision: 2 })
  let isAnswered = false
  const answered = audit.record(request('dateTime.update'), { status: 200 }).then(() => (isAnswered = true))
  // The entry itself is on the disk then.
  await audit.close()
  await nextTurn()
  test.equal(isAnswered, false)
  opened.resolve()
  await answered
  test.match(store.events.entries(), [{ value: { id: 1, kind: 'apply', data: { revision: 2 } } }])
})

t.test('an entry that the disk refuses after the act is written later, and nothing is staged before', async (test) => {
  const { audit, request, stateFolder } = fixture(test)
  const staging = endpoints.find(({ name }) => name === 'realServers.create')
  if (staging === undefined) throw new Error('there is no such endpoint')
  const obstacle = join(auditFolder(stateFolder), '000000000001.jsonl')
  mkdirSync(obstacle)
  await test.rejects(audit.record(request('dateTime.update'), {}), { code: 'EISDIR' }, 'acts not yet begun are refused')
  test.equal(await audit.record(request('realServers.create'), { status: 201 }), true)
  test.throws(() => audit.assertRoom(staging), { code: 'INTERNAL', message: /Nothing was changed, because/ })
  await audit.record(request('realServers.update'), { status: 200 })
  rmdirSync(obstacle)
  await audit.record(request('realServers.delete'), { status: 200 })
  audit.assertRoom(staging)
  test.match(await audit.search({ limit: 10 }), [
    { endpoint: 'realServers.delete' },
    { endpoint: 'realServers.update' },
    { endpoint: 'realServers.create' },
  ])
  await audit.close()
})

t.test('secrets of records are masked, and long ones are left out', async (test) => {
  const { audit, request, stateFolder } = fixture(test)
  const proxy = { id: 'n', enable: true, address: null, username: 'u', password: 'hunter2', bypass: [] }
  const many = Array.from({ length: 2000 }, (_, n) => `r${n}`)
  const changes = [
    { section: 'systemProxies', id: 'n', before: undefined, after: proxy },
    { section: 'l7Backends', id: 'b', before: undefined, after: backend('b', many) },
  ]
  await audit.record(request('systemProxy.update', { changes }), { status: 200 })
  await audit.close()
  const text = readFileSync(segmentsIn(auditFolder(stateFolder))[0] ?? '', 'utf8')
  test.match(text, /"password":"\*\*"/)
  test.notMatch(text, /hunter2/)
  test.ok(text.replace(/\0+$/, '').length < 2000)
})

t.test('refused logins are recorded up to a limit, so that they cannot push out older entries', async (test) => {
  const { audit, request, clock, events } = fixture(test)
  const told: unknown[] = []
  events.subscribe(({ data }) => told.push(data))
  const refused = () => audit.record(request('auth.login', { body: { email: 'x@y', password: 'p' } }), { status: 401 })
  for (let i = 0; i < 100; i++) await refused()
  test.equal((await audit.search({ limit: 1000 })).length, 30)
  clock.advance(300_000)
  await refused()
  const [last, repeated] = await audit.search({ limit: 2 })
  test.match(last, { by: 'x@y', outcome: 'refused', count: undefined })
  test.match(repeated, { by: 'x@y', outcome: 'refused', status: 401, count: 70, endpoints: { 'auth.login': 70 } })
  test.notMatch(JSON.stringify([last, repeated]), /"p"/)
  await events.stored()
  test.equal(told.length, 31)
  test.match(told[0], { state: 'refused', email: 'x@y', address: '192.0.2.1' })
  await audit.close()
})

t.test('a wrong second factor has its own entry and event, however many strangers are refused', async (test) => {
  const { audit, request, events } = fixture(test)
  const told: unknown[] = []
  events.subscribe(({ data }) => told.push(data))
  const refused = (email: string, code: string) =>
    audit.record(request('auth.login', { body: { email, password: 'p' } }), { status: 401, code })
  for (let i = 0; i < 50; i++) await refused('noise@y', 'INVALID_CREDENTIALS')
  for (let i = 0; i < 5; i++) await refused('x@y', 'TWO_FACTOR_INVALID')
  test.equal((await audit.search({ limit: 9, by: 'x@y' })).length, 5)
  await events.stored()
  test.match(
    told.slice(30),
    Array.from({ length: 5 }, () => ({ state: 'refused', email: 'x@y' })),
  )
  await audit.close()
})

t.test('a success after each refusal flushes neither the refusals nor their bodies', async (test) => {
  const { audit, request, stateFolder } = fixture(test)
  const body = { endpoints: Array.from({ length: 48 }, (_, n) => `GET /no/such/endpoint/of/some/length/${n}`) }
  for (let i = 0; i < 130; i++) {
    await audit.record(request('account.createToken', { body }), { status: 422, code: 'INVALID_BODY' })
    if (i >= 30) await audit.record(request('account.revokeToken'), { status: 200 })
  }
  await audit.close()
  const lines = readFileSync(segmentsIn(auditFolder(stateFolder))[0] ?? '', 'utf8').split('\n')
  const counted = lines.filter((line) => line.includes('"count":'))
  test.equal(counted.length, 2, 'the first, and the rest when it ended')
  test.ok(counted.every((line) => line.length < 1000 && !line.includes('"body"')))
})

t.test('a user who is refused repeatedly does not fill the log', async (test) => {
  const { audit, request, stateFolder, store } = fixture(test)
  const refused = () => audit.record(request('services.apply'), { status: 403, code: 'PERMISSION_DENIED' })
  for (let i = 0; i < 50; i++) await refused()
  await audit.record(request('realServers.update'), { status: 200 })
  const entries = await audit.search({ limit: 1000 })
  test.equal(entries.length, 32)
  test.match(entries, [{ outcome: 'done' }, { outcome: 'refused', code: 'PERMISSION_DENIED', count: 20 }])
  for (let i = 0; i < 7; i++) await refused()
  await audit.close()
  const log = readFileSync(segmentsIn(auditFolder(stateFolder))[0] ?? '', 'utf8')
  test.match(log.split('\n').at(-2), /"count":7/, 'the rest is recorded before it ends')
  test.same(checkAudit(auditFolder(stateFolder), knownHead(store)), [])
})

t.test('frequent refusals share one beginning, but never that of a revealed secret', async (test) => {
  const { audit, request } = fixture(test)
  for (let i = 0; i < 31; i++) await audit.record(request('services.apply'), { status: 403 })
  test.equal(await audit.record(request('services.apply'), {}), true)
  test.match((await audit.search({ limit: 1 }))[0], { outcome: 'begun', coversSeconds: 60 })
  test.equal(await audit.record(request('services.apply'), {}), false)
  test.equal(await audit.record(request('backups.get', { method: 'GET' }), {}), true)
  const [begun] = await audit.search({ limit: 1 })
  test.match(begun, { outcome: 'begun', endpoint: 'backups.get' })
  test.notOk('coversSeconds' in (begun ?? {}))
  await audit.close()
})

t.test('an announced body is not recorded twice, and a long one not at all', async (test) => {
  const { audit, request } = fixture(test)
  const body = { dateTime: 'now' }
  await audit.record(request('dateTime.update', { body, isBegun: true }), { status: 200 })
  await audit.record(
    request('dateTime.update', { body: { text: Array.from({ length: 50 }, () => 'x'.repeat(500)) } }),
    {},
  )
  const [long, done] = await audit.search({ limit: 2 })
  test.notOk('body' in (done ?? {}))
  test.match(long, { body: { leftOut: /characters/ } })
  await audit.close()
})

t.test('an entry is bounded, however many records were changed', async (test) => {
  const { audit, request } = fixture(test)
  const long = Array.from({ length: 100 }, (_, n) => `${n}`.padStart(60, 'x'))
  const changes = Array.from({ length: 90 }, (_, n) => ({
    section: 'l7Backends',
    id: `b${n}`,
    before: undefined,
    after: backend(`b${n}`, long),
  }))
  await audit.record(request('realServers.update', { changes }), { status: 200 })
  const [entry] = await audit.search({ limit: 1 })
  test.ok(JSON.stringify(entry).length < 64 * 1024)
  const listed = entry?.['changes']
  test.ok(Array.isArray(listed) && listed.length > 3)
  test.equal(Number(entry?.['moreChanges']) + (Array.isArray(listed) ? listed.length : 0), 90)
  await audit.close()
})

t.test('requests are on the disk before they are answered', async (test) => {
  const { call, anonymous, node, appliance, state } = await applianceFixture(test)
  const last = async (query = '') => (await call('GET', `/audit${query}`)).json.data
  test.match(await last(), [
    { endpoint: 'auth.login', by: ADMIN.email, outcome: 'done', status: 200, body: { password: '**' } },
  ])
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web', ip: '192.0.2.9', port: 80 } })
  test.match(await last('?limit=1'), [
    { endpoint: 'realServers.create', by: ADMIN.email, changes: [{ op: 'create', after: { ip: '192.0.2.9' } }] },
  ])
  await call('DELETE', '/services/pending')
  test.match(await last('?limit=1'), [{ endpoint: 'services.discardAll', changes: [{ op: 'delete', name: 'web' }] }])
  await call('PUT', '/services/apply')
  test.match(await last('?limit=2'), [{ outcome: 'done' }, { endpoint: 'services.apply', outcome: 'begun' }])
  await call('PUT', `/${node}/system/conntrack`, { body: { size: 1 } })
  test.match(await last('?limit=1&outcome=refused'), [
    { endpoint: 'conntrack.update', status: 422, code: 'INVALID_BODY' },
  ])
  await anonymous('PUT', '/services/apply')
  test.equal((await last('?limit=1'))[0].status, 422, "requests without an account are in the daemon's log, not here")
  await call('GET', '/ipvsDirector/rips')
  test.equal((await last('?limit=1'))[0].status, 422, 'reads leave no entry')
  await appliance.close()
  test.same(
    (await checkState(state)).filter((problem) => /audit/.test(problem)),
    [],
  )
})

t.test('a caller whose requests are all refused can still send valid ones, and fills nothing', async (test) => {
  const { call, appliance, state } = await applianceFixture(test)
  const codes = new Set<string>()
  const newest = async () => (await call('GET', '/audit?limit=1')).json.data[0].seq
  const remove = async () => codes.add((await call('DELETE', '/backup/none-20260101-000000.json')).json.code)
  for (let n = 0; n < 40; n++) await remove()
  const before = await newest()
  for (let n = 0; n < 200; n++) await remove()
  test.same([...codes], ['NOT_FOUND'], 'never because others were refused')
  test.equal(await newest(), before, 'all of them are one entry later')
  test.equal((await call('PUT', '/services/apply')).status, 200)
  test.match((await call('GET', '/audit?limit=2')).json.data, [
    { endpoint: 'services.apply', outcome: 'done' },
    {
      endpoint: 'backups.delete',
      outcome: 'refused',
      code: 'NOT_FOUND',
      count: 210,
      endpoints: { 'backups.delete': 210 },
    },
  ])
  await appliance.close()
  test.same(
    (await checkState(state)).filter((problem) => /audit/.test(problem)),
    [],
  )
})

t.test('409 and 412 block no apply', async (test) => {
  const { call } = await applianceFixture(test)
  const { id } = (await call('POST', '/ipvsDirector/rips', { body: { name: 'w', ip: '192.0.2.1', port: 1 } })).json.data
  for (let n = 0; n < 60; n++) {
    const headers = { 'if-match': '"0"' }
    test.equal((await call('PUT', `/ipvsDirector/rips/${id}`, { body: { port: 2 }, headers })).status, 412)
    const again = await call('POST', '/ipvsDirector/rips', { body: { name: 'w', ip: '192.0.2.1', port: 1 } })
    test.equal(again.status, 409)
  }
  test.equal((await call('PUT', '/services/apply')).status, 200)
})

t.test('an unparsable query is not stored: it may hold a secret', async (test) => {
  const { call } = await applianceFixture(test)
  await call('PUT', '/services/apply?token=S3CRET')
  const [entry] = (await call('GET', '/audit?limit=1')).json.data
  test.match(entry, { outcome: 'refused', code: 'INVALID_QUERY' })
  test.notOk('query' in entry)
})

t.test('a refused right is recorded', async (test) => {
  const { call, login, anonymous } = await applianceFixture(test)
  const body = {
    email: 'nobody@localhost',
    firstname: 'No',
    lastname: 'Body',
    password: 'nobody-may',
    disabled: 'false',
  }
  await call('POST', '/localUsers/users', { body })
  await call('PUT', '/services/apply')
  const token = await login(body.email, body.password)
  await anonymous('PUT', '/services/apply', { token })
  test.match((await call('GET', '/audit?limit=1')).json.data, [
    { by: body.email, endpoint: 'services.apply', outcome: 'refused', code: 'PERMISSION_DENIED' },
  ])
})
