import t from 'tap'
import { caller } from '../../fixtures/appliance.ts'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

t.test('an account manager sees and ends the sessions and tokens of all, and none of their secrets', async (test) => {
  const { call, login, appliance } = await borrow()
  const body = { email: 'jane@localhost', firstname: 'J', lastname: 'D', password: 'a-password', disabled: 'false' }
  const { id } = (await call('POST', '/localUsers/users', { body })).json.data
  await call('PUT', '/services/apply')
  const jane = caller(appliance, await login(body.email, body.password))
  const made = (await jane('POST', '/localUsers/me/tokens', { body: { name: 'poller', endpoints: [] } })).json.data
  const tokens = await call('GET', '/localUsers/tokens')
  test.match(tokens.json.data, [{ id: made.id, userId: id, userName: 'jane@localhost', name: 'poller', endpoints: [] }])
  test.notOk(tokens.text.includes(made.token))
  const sessions = (await call('GET', '/localUsers/sessions')).json.data
  const hers = sessions.find((session: { userId: string }) => session.userId === id)
  test.match(hers, { name: 'jane@localhost', via: 'password', isCurrent: false })
  for (const path of [`/localUsers/tokens/${made.id}`, `/localUsers/sessions/${hers.id}`]) {
    test.equal((await jane('DELETE', path)).status, 403, `${path} without any right`)
    test.equal((await call('DELETE', path)).status, 200, path)
    test.match((await call('DELETE', path)).json, { code: 'NOT_FOUND' }, path)
  }
  test.equal((await jane('GET', '/localUsers/me')).status, 401)
  test.match((await call('DELETE', `/localUsers/users/${id}/2fa`)).json, { code: 'NOT_FOUND' })
})

t.test('one’s own second factor cannot be removed without proof', async (test) => {
  const { call } = await borrow()
  const { id } = (await call('GET', '/localUsers/me')).json.data
  test.match((await call('DELETE', `/localUsers/users/${id}/2fa`)).json, { code: 'PERMISSION_DENIED' })
})
