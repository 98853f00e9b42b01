import t from 'tap'
import { applianceFixture } from '../../appliance-fixture.ts'

t.test('an apply without changes makes no revision', async (test) => {
  const { call, machine } = await applianceFixture(test)
  machine.host.takeJournal()
  const answer = await call('PUT', '/services/apply', { body: { comment: 'nothing' } })
  test.match(answer.json.data, { applyId: String, revision: 1 })
  test.same((await call('PUT', '/services/apply', { body: {} })).json.data, [])
  test.equal((await call('GET', '/services/pending')).json.data.revision, 1)
  test.same(machine.host.journal, [])
})

t.test('a comment and a force are checked', async (test) => {
  const { call } = await applianceFixture(test)
  const long = await call('PUT', '/services/apply', { body: { comment: 'x'.repeat(1001) } })
  test.match(long.json, { code: 'INVALID_BODY', errors: [{ field: 'comment' }] })
  test.match((await call('PUT', '/services/apply?force=reload')).json, {
    code: 'INVALID_QUERY',
    errors: [{ field: 'force' }],
  })
})

t.test('confirmWithin: answered with the time until it is taken back, kept by a confirmation', async (test) => {
  const { call } = await applianceFixture(test)
  test.match((await call('PUT', '/services/apply/confirm')).json, { code: 'NOT_FOUND' })
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web', ip: '127.0.0.1', port: 80 } })
  const applied = await call('PUT', '/services/apply', { body: { confirmWithin: 60, comment: 'careful' } })
  test.match(applied.json.data, { applyId: String, revision: 2, confirmBy: /^\d{4}-\d\d-\d\dT/, nodes: [{ ok: true }] })
  test.match(await call('PUT', '/services/apply'), { status: 409, json: { code: 'APPLY_IN_PROGRESS' } })
  const confirmed = await call('PUT', '/services/apply/confirm')
  test.match(confirmed.json, { status: 'success', message: 'Revision 2 is kept', data: { revision: 2 } })
  test.equal((await call('PUT', '/services/apply')).status, 200)
})

t.test('confirmWithin and force are checked', async (test) => {
  const { call } = await applianceFixture(test)
  for (const [field, value] of [
    ['confirmWithin', 4],
    ['confirmWithin', 86_401],
    ['confirmWithin', '60'],
    ['force', 'restart'],
  ] as const) {
    const answer = await call('PUT', '/services/apply', { body: { [field]: value } })
    test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field }] }, `${field} ${value}`)
  }
})

t.test('an apply that was only recorded says so; one that had nothing to do on the machine does not', async (test) => {
  const { call, node } = await applianceFixture(test)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web', ip: '127.0.0.1', port: 80 } })
  const nothing = await call('PUT', `/${node}/services/apply`)
  test.notOk('X-Dry-Run' in nothing.headers)
  const body = { name: 'fe', mode: 'http', ip: '127.0.0.1', ports: '8000' }
  await call('POST', '/layer7proxy/frontends', { body })
  const recorded = await call('PUT', '/services/apply')
  test.match(recorded, { status: 200, headers: { 'X-Dry-Run': 'true' }, json: { message: /only recorded/, data: [] } })
})

t.test('some of the changes go live, or one’s own; the rest stays pending', async (test) => {
  const { call } = await applianceFixture(test)
  const create = async (name: string) => {
    await call('POST', '/ipvsDirector/rips', { body: { name, ip: '192.0.2.9', port: 80 } })
  }
  const pending = async () => (await call('GET', '/services/pending')).json.data.changes
  await create('one')
  await create('two')
  const [one] = await pending()
  for (const [body, field] of [
    [{ changes: [] }, 'changes'],
    [{ changes: [1] }, 'changes.0'],
    [{ changes: [one.id, 'unknown'] }, 'changes.1'],
    [{ changes: [one.id], mine: true }, 'mine'],
    [{ mine: 'yes' }, 'mine'],
  ] as const) {
    const answer = await call('PUT', '/services/apply', { body })
    test.match([answer.status, answer.json.errors[0].field], [422, field], answer.text)
  }
  test.equal((await pending()).length, 2)
  const applied = await call('PUT', '/services/apply', { body: { changes: [one.id] } })
  test.match(applied.json.data, { revision: 2 })
  test.match(await pending(), [{ name: 'two' }])
  test.equal((await call('PUT', '/services/apply', { body: { mine: true } })).status, 200)
  test.same(await pending(), [])
})

t.test('a forced restart of nothing is no revision', async (test) => {
  const { call, machine } = await applianceFixture(test)
  machine.host.takeJournal()
  const { status, json } = await call('PUT', '/services/apply?force=restart', { body: { comment: 'again' } })
  test.equal(status, 200)
  test.match(json.data, { revision: 1, confirmBy: null })
  test.ok(machine.host.takeJournal().length > 0, 'it was restarted')
  test.match((await call('GET', '/revisions')).json.data, [{ revision: 1 }])
})
