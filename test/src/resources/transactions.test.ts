import t from 'tap'
import { ADMIN } from '../../fixtures/appliance.ts'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

const WEB = { name: 'web', ip: '127.0.0.1', port: 80 }

t.test('a transaction: visible inside only, committed to the candidate, then applied', async (test) => {
  const { call } = await borrow()
  test.same((await call('GET', '/transactions')).json.data, [])
  const begun = await call('POST', '/transactions')
  test.equal(begun.status, 201)
  const { id } = begun.json.data
  test.match(begun.json.data, { id: String, owner: ADMIN.email, count: 0 })
  const headers = { 'x-transaction-id': id }
  test.equal((await call('POST', '/ipvsDirector/rips', { body: WEB, headers })).status, 201)
  test.equal((await call('GET', '/ipvsDirector/rips')).json.data.length, 0)
  test.equal((await call('GET', '/ipvsDirector/rips', { headers })).json.data.length, 1)
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
  await call('PUT', '/services/apply')
  test.equal((await call('GET', '/services/pending')).json.data.revision, 1, 'an apply does not include it')
  test.match((await call('PUT', `/transactions/${id}/commit`)).json, { status: 'success', data: [] })
  test.match((await call('GET', '/services/pending')).json.data, { count: 1, changes: [{ by: ADMIN.email }] })
  test.same((await call('GET', '/transactions')).json.data, [])
})

t.test('a rollback drops it; the id is unknown afterwards', async (test) => {
  const { call } = await borrow()
  const { id } = (await call('POST', '/transactions')).json.data
  const headers = { 'x-transaction-id': id }
  await call('POST', '/ipvsDirector/rips', { body: WEB, headers })
  test.equal((await call('PUT', `/transactions/${id}/rollback`)).status, 200)
  test.match((await call('POST', '/ipvsDirector/rips', { body: WEB, headers })).json, { code: 'NOT_FOUND' })
  test.equal((await call('GET', '/ipvsDirector/rips')).json.data.length, 0)
  for (const verb of ['commit', 'rollback']) {
    test.match((await call('PUT', `/transactions/${id}/${verb}`)).json, { code: 'NOT_FOUND' })
  }
})

t.test('a rollback waits for running edits and the commit: none of them brings it back', async (test) => {
  const { call } = await borrow()
  const begun = async () => String((await call('POST', '/transactions')).json.data.id)
  const rolledBack = (id: string) => call('PUT', `/transactions/${id}/rollback`, { body: {} })
  for (let n = 0; n < 5; n++) {
    const id = await begun()
    const headers = { 'x-transaction-id': id }
    const edits = [1, 2, 3].map((at) =>
      call('POST', '/ipvsDirector/rips', { body: { ...WEB, name: `${at}` }, headers }),
    )
    test.equal((await rolledBack(id)).status, 200)
    await Promise.all(edits)
    test.same((await call('GET', '/transactions')).json.data, [])
  }
  const id = await begun()
  await call('POST', '/ipvsDirector/rips', { body: WEB, headers: { 'x-transaction-id': id } })
  const commit = call('PUT', `/transactions/${id}/commit`)
  const [committed, back] = await Promise.all([commit, rolledBack(id)])
  test.same(
    [committed.status, back.status].toSorted((a, b) => a - b),
    [200, 404],
    'one of them, and the other says so',
  )
  const { count } = (await call('GET', '/services/pending')).json.data
  test.equal(count, committed.status === 200 ? 1 : 0)
})

t.test('TRANSACTION_OPEN: a second one names the first and its owner', async (test) => {
  const { call } = await borrow()
  const { id } = (await call('POST', '/transactions')).json.data
  const second = await call('POST', '/transactions')
  test.equal(second.status, 409)
  test.match(second.json, { code: 'TRANSACTION_OPEN', data: { id, owner: ADMIN.email } })
})

t.test(
  'TRANSACTION_OPEN: review, apply, confirm, validate and discard concern pending changes, never inside one',
  async (test) => {
    const { call, node, revision } = await borrow()
    await call('POST', '/ipvsDirector/rips', { body: WEB })
    const change = (await call('GET', '/services/pending')).json.data.changes[0].id
    const { id } = (await call('POST', '/transactions')).json.data
    const headers = { 'x-transaction-id': id }
    await call('POST', '/ipvsDirector/rips', { body: { ...WEB, name: 'inside' }, headers })
    for (const [method, path] of [
      ['GET', '/services/pending'],
      ['DELETE', '/services/pending'],
      ['DELETE', `/services/pending/${change}`],
      ['PUT', '/services/apply'],
      ['PUT', `/${node}/services/apply`],
      ['PUT', '/services/apply/confirm'],
      ['POST', '/services/validate'],
    ] as const) {
      const answer = await call(method, path, { headers })
      test.equal(answer.status, 409, `${method} ${path}`)
      test.match(answer.json, { code: 'TRANSACTION_OPEN', data: { id, owner: ADMIN.email } })
    }
    test.match((await call('GET', '/services/pending')).json.data, { revision, count: 1 }, 'and nothing was touched')
    test.equal((await call('PUT', `/transactions/${id}/rollback`)).status, 200)
    test.equal((await call('DELETE', '/services/pending')).status, 200, 'without the header')
  },
)

t.test('NOT_FOUND: a transaction that is not open, for reads as well', async (test) => {
  const { call } = await borrow()
  const headers = { 'x-transaction-id': 'nobody-opened-this' }
  for (const [method, path] of [
    ['GET', '/ipvsDirector/rips'],
    ['GET', '/services/pending'],
    ['PUT', '/services/apply'],
    ['DELETE', '/services/pending'],
  ] as const) {
    test.match((await call(method, path, { headers })).json, { code: 'NOT_FOUND' }, `${method} ${path}`)
  }
  test.equal((await call('GET', '/ping', { headers })).status, 200, 'public endpoints have no transactions')
})
