import t from 'tap'
import type { Caller } from '../../fixtures/appliance.ts'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

const PATH = '/localUsers/users'
const PASSWORD = 'a-password'
const body = (email: string, more: object = {}) => ({
  email,
  firstname: 'Jane',
  lastname: 'Doe',
  password: PASSWORD,
  disabled: 'false',
  ...more,
})

async function created(call: Caller, sent: object): Promise<string> {
  const { status, text, json } = await call('POST', PATH, { body: sent })
  if (status !== 201) throw new Error(text)
  return json.data.id
}

t.test('both spellings of names are accepted; answers have one', async (test) => {
  const { call } = await borrow()
  const { firstname: _first, lastname: _last, ...nameless } = body('b@localhost')
  const ids = [
    await created(call, body('a@localhost')),
    await created(call, { ...nameless, firstName: 'Jane', lastName: 'Doe' }),
    await created(call, { ...nameless, email: 'c@localhost', firstname: 'Jane', lastName: 'Doe' }),
  ]
  for (const id of ids) {
    const { data } = (await call('GET', `${PATH}/${id}`)).json
    test.same(Object.keys(data), ['id', 'email', 'firstName', 'lastName', 'disabled', 'groups', 'roles'])
    test.match(data, { firstName: 'Jane', lastName: 'Doe' })
  }
  const [first = ''] = ids
  await call('PUT', `${PATH}/${first}`, { body: { firstName: 'Ann' } })
  await call('PUT', `${PATH}/${first}`, { body: { lastname: 'Lee' } })
  test.match((await call('GET', `${PATH}/${first}`)).json.data, { firstName: 'Ann', lastName: 'Lee' })
})

t.test('a creation names every missing part of the name', async (test) => {
  const { call } = await borrow()
  const { firstname: _first, lastname: _last, ...nameless } = body('u@localhost')
  const answer = await call('POST', PATH, { body: nameless })
  test.equal(answer.status, 422)
  test.match(answer.json.errors, [
    { field: 'firstname', code: 'REQUIRED' },
    { field: 'lastname', code: 'REQUIRED' },
  ])
  const half = await call('POST', PATH, { body: { ...nameless, firstName: 'Jane' } })
  test.match(half.json.errors, [{ field: 'lastname', code: 'REQUIRED' }])
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
})

t.test('disabled is sent as a boolean or as a word, and returned as a boolean', async (test) => {
  const { call } = await borrow()
  const forms: readonly (readonly [sent: unknown, disabled: boolean])[] = [
    [true, true],
    ['true', true],
    ['1', true],
    [false, false],
    ['false', false],
    ['0', false],
    ['', false],
  ]
  for (const [i, [disabled, shown]] of forms.entries()) {
    const id = await created(call, body(`u${i}@localhost`, { disabled }))
    test.equal((await call('GET', `${PATH}/${id}`)).json.data.disabled, shown, JSON.stringify(disabled))
    await call('PUT', `${PATH}/${id}`, { body: { disabled: !shown } })
    await call('PUT', `${PATH}/${id}`, { body: { disabled } })
    test.equal((await call('GET', `${PATH}/${id}`)).json.data.disabled, shown, `changed to ${JSON.stringify(disabled)}`)
  }
  for (const disabled of ['yes', 'TRUE', 1, 0, null]) {
    const answer = await call('POST', PATH, { body: body('no@localhost', { disabled }) })
    test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field: 'disabled' }] }, JSON.stringify(disabled))
  }
})

t.test('a change keeps omitted fields, the password included', async (test) => {
  const { call, login, anonymous } = await borrow()
  await call('POST', '/rbac/groups', { body: { id: 'g', name: 'g' } })
  const id = await created(call, body('u@localhost', { groups: ['g'] }))
  await call('PUT', '/services/apply')
  const token = await login('u@localhost', PASSWORD)
  await call('PUT', `${PATH}/${id}`, { body: { email: 'v@localhost' } })
  await call('PUT', '/services/apply')
  test.same((await call('GET', `${PATH}/${id}`)).json.data, {
    id,
    email: 'v@localhost',
    firstName: 'Jane',
    lastName: 'Doe',
    disabled: false,
    groups: ['g'],
    roles: [],
  })
  test.equal((await anonymous('GET', '/token', { token })).status, 200, 'still logged in')
  test.type(await login('v@localhost', PASSWORD), 'string')
  test.equal((await call('PUT', `${PATH}/${id}`, { body: { groups: [] } })).status, 200)
  test.same((await call('GET', `${PATH}/${id}`)).json.data.groups, [], 'a sent list replaces the stored one')
})

t.test('a new password counts after apply and ends the sessions of the old one', async (test) => {
  const { call, login, anonymous } = await borrow()
  const id = await created(call, body('u@localhost'))
  await call('PUT', '/services/apply')
  const token = await login('u@localhost', PASSWORD)
  await call('PUT', `${PATH}/${id}`, { body: { password: 'another-password' } })
  test.equal((await anonymous('GET', '/token', { token })).status, 200, 'only staged')
  const pending = await call('GET', '/services/pending')
  test.match(pending.json.data.changes, [{ before: { passwordHash: '**' }, after: { passwordHash: '**' } }])
  await call('PUT', '/services/apply')
  test.match((await anonymous('GET', '/token', { token })).json, { code: 'TOKEN_EXPIRED' })
  const old = await anonymous('POST', '/token', { body: { email: 'u@localhost', password: PASSWORD } })
  test.match(old.json, { code: 'INVALID_CREDENTIALS' })
  test.not(await login('u@localhost', 'another-password'), 'undefined')
})

t.test('a read has the tag for If-Match, a list none', async (test) => {
  const { call } = await borrow()
  const id = await created(call, body('u@localhost'))
  const first = await call('GET', `${PATH}/${id}`)
  test.match(first.headers['ETag'], /^"\d+"$/)
  test.notOk('ETag' in (await call('GET', PATH)).headers)
  const headers = { 'if-match': String(first.headers['ETag']) }
  test.equal((await call('PUT', `${PATH}/${id}`, { body: { lastname: 'Lee' }, headers })).status, 200)
  test.not((await call('GET', `${PATH}/${id}`)).headers['ETag'], first.headers['ETag'])
  test.match((await call('DELETE', `${PATH}/${id}`, { headers })).json, { code: 'REVISION_MISMATCH' })
})

t.test('IN_USE: the last administrator can be neither deleted, disabled nor deprived, when staged', async (test) => {
  const { call } = await borrow()
  const [{ id, roles }] = (await call('GET', '/localUsers/users')).json.data
  const refused = async (method: string, path: string, sent?: object) => {
    const answer = await call(method, path, sent === undefined ? {} : { body: sent })
    test.equal(answer.status, 409, path)
    test.match(answer.json, { code: 'IN_USE', message: /Administrator/, data: { usage: [{ resource: 'roles' }] } })
  }
  await refused('DELETE', `/localUsers/users/${id}`)
  await refused('PUT', `/localUsers/users/${id}`, { disabled: true })
  await refused('PUT', `/localUsers/users/${id}`, { roles: [] })
  await refused('PUT', `/rbac/roles/${roles[0]}`, { users: [] })
  test.equal((await call('GET', '/services/pending')).json.data.count, 0, 'nothing is staged')
  const second = { email: 'b@localhost', firstname: 'B', lastname: 'C', password: 'a-password', disabled: false, roles }
  await call('POST', '/localUsers/users', { body: second })
  test.equal((await call('DELETE', `/localUsers/users/${id}`)).status, 200, 'there is another one')
})

t.test('inside a transaction the order is free; its commit is refused', async (test) => {
  const { call } = await borrow()
  const [{ id, roles }] = (await call('GET', '/localUsers/users')).json.data
  const transaction = String((await call('POST', '/transactions')).json.data.id)
  const headers = { 'x-transaction-id': transaction }
  test.equal((await call('PUT', `/localUsers/users/${id}`, { body: { roles: [] }, headers })).status, 200)
  test.match((await call('PUT', `/transactions/${transaction}/commit`)).json, { code: 'IN_USE' })
  const applied = await call('PUT', '/services/apply', { body: { transactionId: transaction } })
  test.match(applied.json, { code: 'IN_USE', data: { usage: [{ resource: 'roles' }] } }, 'and so is its apply')
  test.equal((await call('PUT', `/localUsers/users/${id}`, { body: { roles }, headers })).status, 200)
  test.equal((await call('PUT', `/transactions/${transaction}/commit`)).status, 200)
})
