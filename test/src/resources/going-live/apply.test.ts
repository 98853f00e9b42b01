import t from 'tap'
import { sharedAppliance } from '../../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

t.test('an apply without changes makes no revision', async (test) => {
  const { call, machine, revision } = await borrow()
  machine.host.takeJournal()
  const answer = await call('PUT', '/services/apply', { body: { comment: 'nothing' } })
  test.match(answer.json.data, { applyId: String, revision })
  test.same((await call('PUT', '/services/apply', { body: {} })).json.data, [])
  test.equal((await call('GET', '/services/pending')).json.data.revision, revision)
  test.same(machine.host.journal, [])
})

t.test('comment and force are checked', async (test) => {
  const { call } = await borrow()
  const long = await call('PUT', '/services/apply', { body: { comment: 'x'.repeat(1001) } })
  test.match(long.json, { code: 'INVALID_BODY', errors: [{ field: 'comment' }] })
  test.match((await call('PUT', '/services/apply?force=reload')).json, {
    code: 'INVALID_QUERY',
    errors: [{ field: 'force' }],
  })
})

t.test('confirmWithin: answered with the time until the revert, kept by a confirmation', async (test) => {
  const { call, revision } = await borrow()
  test.match((await call('PUT', '/services/apply/confirm')).json, { code: 'NOT_FOUND' })
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web', ip: '127.0.0.1', port: 80 } })
  const applied = await call('PUT', '/services/apply', { body: { confirmWithin: 60, comment: 'careful' } })
  test.match(applied.json.data, {
    applyId: String,
    revision: revision + 1,
    confirmBy: /^\d{4}-\d\d-\d\dT/,
    nodes: [{ ok: true }],
  })
  test.match(await call('PUT', '/services/apply'), { status: 409, json: { code: 'APPLY_IN_PROGRESS' } })
  const confirmed = await call('PUT', '/services/apply/confirm')
  test.match(confirmed.json, {
    status: 'success',
    message: `Revision ${revision + 1} is kept`,
    data: { revision: revision + 1 },
  })
  test.equal((await call('PUT', '/services/apply')).status, 200)
})

t.test('a waiting apply is shown, and reverted by one call; its changes are pending again', async (test) => {
  const { call, node, revision } = await borrow()
  const state = async () => (await call('GET', '/services/apply')).json.data
  test.match(await state(), { state: 'idle', revision, confirmBy: null, nodes: [{ nodeId: node, state: 'idle' }] })
  test.match(await call('PUT', '/services/apply/revert'), { status: 404, json: { code: 'NOT_FOUND' } })
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web', ip: '127.0.0.1', port: 80 } })
  await call('PUT', '/services/apply', { body: { confirmWithin: 600, comment: 'careful' } })
  const waiting = await state()
  test.match(waiting, {
    state: 'waiting',
    revision: revision + 1,
    by: 'admin@localhost',
    comment: 'careful',
    confirmBy: String,
  })
  test.ok(waiting.secondsLeft > 500 && waiting.secondsLeft <= 600)
  test.match((await call('PUT', '/services/apply/revert')).json, {
    message: new RegExp(`^Reverted as revision ${revision + 2}`),
    data: { revision: revision + 2 },
  })
  test.match(await state(), {
    state: 'idle',
    revision: revision + 2,
    comment: `revision ${revision + 1} was reverted`,
    secondsLeft: null,
  })
  const [entry] = (await call('GET', '/audit?endpoint=services.revertApply&outcome=done&limit=1')).json.data
  test.match(entry, { revision: revision + 2, live: [{ op: 'delete', name: 'web', by: 'admin@localhost' }] })
  test.match((await call('GET', '/services/pending')).json.data, { count: 1, changes: [{ by: 'admin@localhost' }] })
  test.match((await call('PUT', '/services/apply/confirm')).json, { code: 'NOT_FOUND' })
})

t.test('a record that two users edited belongs to neither alone, and both are named', async (test) => {
  const { call, anonymous, login, revision } = await borrow()
  const roles = (await call('GET', '/rbac/roles')).json.data
  const manager = roles.find(({ name }: { name: string }) => name === 'Manager').id
  const body = {
    email: 'mgr@x.org',
    firstname: 'M',
    lastname: 'N',
    password: 'Long-Enough-Phrase-7',
    disabled: 'false',
    roles: [manager],
  }
  const { id } = (await call('POST', '/ipvsDirector/rips', { body: { name: 'web', ip: '192.0.2.9', port: 80 } })).json
    .data
  test.equal((await call('POST', '/localUsers/users', { body })).status, 201)
  await call('PUT', '/services/apply')
  const token = await login('mgr@x.org', body.password)
  await call('PUT', `/ipvsDirector/rips/${id}`, { body: { port: 80, weight: 71 } })
  await anonymous('PUT', `/ipvsDirector/rips/${id}`, { token, body: { port: 80, name: 'renamed' } })
  const [change] = (await call('GET', '/services/pending')).json.data.changes
  test.match(change, { by: 'mgr@x.org', alsoBy: ['admin@localhost'], after: { weight: 71, name: 'renamed' } })
  for (const who of [
    call,
    (...sent: Parameters<typeof call>) => anonymous(sent[0], sent[1], { ...sent[2], token }),
  ] as const) {
    const none = await who('PUT', '/services/apply', { body: { mine: true } })
    test.match(none, { status: 200, json: { message: /^Nothing was applied: no pending change is yours alone/ } })
  }
  test.equal((await call('GET', '/services/pending')).json.data.count, 1)
  test.match((await call('PUT', '/services/apply', { body: { changes: [change.id] } })).json.data, {
    revision: revision + 2,
  })
  const [entry] = (await call('GET', '/audit?endpoint=services.apply&limit=1')).json.data
  test.match(entry, { live: [{ resourceId: id, by: 'mgr@x.org, admin@localhost' }] })
})

t.test('a transaction is applied alone', async (test) => {
  const { call, revision } = await borrow()
  const { id } = (await call('POST', '/transactions')).json.data
  const headers = { 'x-transaction-id': id }
  await call('POST', '/ipvsDirector/rips', { body: { name: 'mine', ip: '127.0.0.1', port: 80 }, headers })
  await call('POST', '/ipvsDirector/rips', { body: { name: 'pending', ip: '127.0.0.1', port: 80 } })
  for (const more of [{ mine: true }, { changes: ['x'] }]) {
    const answer = await call('PUT', '/services/apply', { body: { transactionId: id, ...more } })
    test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field: 'transactionId', message: /excludes/ }] })
  }
  test.match((await call('PUT', '/services/apply', { body: { transactionId: 'x' } })).json, { code: 'NOT_FOUND' })
  test.match((await call('PUT', '/services/apply', { body: { transactionId: id } })).json.data, {
    revision: revision + 1,
  })
  test.match((await call('GET', '/services/pending')).json.data.changes, [{ name: 'pending' }])
  test.same((await call('GET', '/transactions')).json.data, [])
})

t.test('confirmWithin and force are checked', async (test) => {
  const { call } = await borrow()
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

t.test('an apply that was only recorded says so; one without steps on the machine does not', async (test) => {
  const { call, node } = await borrow()
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web', ip: '127.0.0.1', port: 80 } })
  const nothing = await call('PUT', `/${node}/services/apply`)
  test.notOk('X-Dry-Run' in nothing.headers)
  const body = { name: 'fe', mode: 'http', ip: '127.0.0.1', ports: '8000' }
  await call('POST', '/layer7proxy/frontends', { body })
  const recorded = await call('PUT', '/services/apply')
  test.match(recorded, { status: 200, headers: { 'X-Dry-Run': 'true' }, json: { message: /only recorded/, data: [] } })
})

t.test('some changes go live, or one’s own; the rest stays pending', async (test) => {
  const { call, revision } = await borrow()
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
  test.match(applied.json.data, { revision: revision + 1 })
  test.match(await pending(), [{ name: 'two' }])
  test.equal((await call('PUT', '/services/apply', { body: { mine: true } })).status, 200)
  test.same(await pending(), [])
})

t.test('a forced restart without changes is no revision', async (test) => {
  const { call, machine, revision } = await borrow()
  machine.host.takeJournal()
  const { status, json } = await call('PUT', '/services/apply?force=restart', { body: { comment: 'again' } })
  test.equal(status, 200)
  test.match(json.data, { revision, confirmBy: null })
  test.ok(machine.host.takeJournal().length > 0, 'it was restarted')
  test.equal((await call('GET', '/revisions?limit=1')).json.data[0].revision, revision)
})

t.test('warnings are in pending, validate and apply; refuseWarnings changes nothing', async (test) => {
  const { call, machine, revision } = await borrow()
  const created = async (path: string, body: object) => String((await call('POST', path, { body })).json.data.id)
  const ripId = await created('/ipvsDirector/rips', { name: 'web 1', ip: '127.0.0.1', port: 8001 })
  const defaultBackendId = await created('/layer7proxy/backends', { name: 'shop', mode: 'http', reals: [{ ripId }] })
  const frontend = { name: 'www', mode: 'http', ip: '127.0.0.1', ports: '8000', defaultBackendId }
  const id = await created('/layer7proxy/frontends', frontend)
  test.same((await call('GET', '/services/pending')).json.data.warnings, [])
  await call('PUT', '/services/apply')
  await call('PUT', `/ipvsDirector/rips/${ripId}/halt`)
  const warning = { code: 'NO_SERVER_LEFT', resource: 'l7Frontends', resourceId: id, name: 'www' }
  test.match((await call('GET', '/services/pending')).json.data.warnings, [warning])
  test.match((await call('POST', '/services/validate')).json.data.warnings, [warning])
  machine.host.takeJournal()
  const refused = await call('PUT', '/services/apply', { body: { refuseWarnings: true } })
  test.equal(refused.status, 409)
  test.match(refused.json, { code: 'WARNINGS', message: /www \(.*shop \(/, data: { warnings: [warning] } })
  test.same(machine.host.journal, [])
  test.match((await call('GET', '/services/pending')).json.data, { revision: revision + 1, count: 1 })
  const applied = await call('PUT', '/services/apply', { body: { comment: 'it is meant' } })
  test.equal(applied.status, 200, 'a plain apply is not stopped')
  test.match(applied.json, { message: /1 warning/, data: { revision: revision + 2, warnings: [warning] } })
  await call('PUT', `/ipvsDirector/rips/${ripId}/online`)
  const back = await call('PUT', '/services/apply', { body: { refuseWarnings: true } })
  test.match(back.json, { data: { revision: revision + 3, warnings: [] } })
})
