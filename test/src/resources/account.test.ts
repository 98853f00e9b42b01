import t, { type Test } from 'tap'
import { hotp } from '../../../src/auth/totp.ts'
import { ADMIN, type Caller, caller } from '../../fixtures/appliance.ts'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

const PASSWORD = 'a-password'

async function fixture(test: Test) {
  const parts = await borrow()
  const { call, anonymous, appliance } = parts
  const roles = async (name: string) => {
    const { json } = await call('GET', '/rbac/roles')
    return json.data.find((role: { name: string }) => role.name === name).id
  }
  const person = async (email: string, role?: string) => {
    const body = { email, firstname: 'A', lastname: 'B', password: PASSWORD, disabled: 'false' }
    const held = role === undefined ? [] : [await roles(role)]
    const { json } = await call('POST', '/localUsers/users', { body: { ...body, roles: held } })
    await call('PUT', '/services/apply')
    const token = await parts.login(email, PASSWORD)
    return { id: String(json.data.id), email, token, call: caller(appliance, token) }
  }
  const codeFor = (secret: string, steps = 0) => hotp(secret, Math.floor(Date.now() / 30_000) + steps)
  const enrol = async (mine: Caller) => {
    const begun = await mine('POST', '/localUsers/me/2fa', { body: { password: PASSWORD } })
    const { secret, uri } = begun.json.data
    test.match(uri, /^otpauth:\/\/totp\/Fulcrum:/)
    const used = codeFor(secret)
    const confirmed = await mine('POST', '/localUsers/me/2fa/confirm', { body: { code: used } })
    test.equal(confirmed.status, 200, confirmed.text)
    return { secret, used, recoveryCodes: confirmed.json.data.recoveryCodes as string[] }
  }
  const logIn = (email: string, code?: string, password = PASSWORD) =>
    anonymous('POST', '/token', { body: { email, password, ...(code === undefined ? {} : { code }) } })
  return { ...parts, person, enrol, codeFor, logIn }
}

t.test("one's own account, without any role", async (test) => {
  const { person, node } = await fixture(test)
  const jane = await person('jane@localhost')
  test.match((await jane.call('GET', '/localUsers/me')).json.data, {
    id: jane.id,
    email: 'jane@localhost',
    kind: 'local',
    groups: [],
    roles: [],
    secondFactor: { enabled: false, since: null, recoveryCodesLeft: 0 },
    mustEnrol: false,
    nodeId: node,
  })
})

t.test('a changed password counts at once; other sessions end and this one stays', async (test) => {
  const { person, logIn, login, anonymous, call } = await fixture(test)
  const jane = await person('jane@localhost')
  const other = await login('jane@localhost', PASSWORD)
  await call('PUT', `/localUsers/users/${jane.id}`, { body: { firstname: 'Pending' } })
  const change = (currentPassword: string, newPassword: string) =>
    jane.call('PUT', '/localUsers/me/password', { body: { currentPassword, newPassword } })
  test.match((await change('wrong', 'another-one')).json, { code: 'INVALID_CREDENTIALS' })
  const weak = await change(PASSWORD, 'jane')
  test.equal(weak.status, 422)
  test.match(weak.json, { code: 'PASSWORD_POLICY', errors: [{ field: 'newPassword' }, { field: 'newPassword' }] })
  test.equal((await anonymous('GET', '/localUsers/me', { token: other })).status, 200, 'refused: nothing has changed')
  test.equal((await change(PASSWORD, 'another-one')).status, 200)
  test.match((await anonymous('GET', '/localUsers/me', { token: other })).json, { code: 'TOKEN_EXPIRED' })
  test.equal((await jane.call('GET', '/localUsers/me')).status, 200)
  test.equal((await logIn('jane@localhost')).status, 401)
  test.equal((await logIn('jane@localhost', undefined, 'another-one')).status, 200)
  const { json } = await call('GET', '/services/pending')
  test.match(json.data.changes, [{ resource: 'users', after: { firstName: 'Pending' } }], 'pending changes stay')
  await call('PUT', '/services/apply')
  test.equal((await logIn('jane@localhost', undefined, 'another-one')).status, 200, 'and an apply keeps the password')
})

t.test('sessions are listed and ended, one’s own by oneself, all with the right to do so', async (test) => {
  const { person, login, call, anonymous } = await fixture(test)
  const jane = await person('jane@localhost')
  const second = await login('jane@localhost', PASSWORD)
  const mine = (await jane.call('GET', '/localUsers/me/sessions')).json.data
  test.match(mine, [
    { isCurrent: true, via: 'password', address: '192.0.2.1', name: 'jane@localhost' },
    { isCurrent: false },
  ])
  const all = (await call('GET', '/localUsers/sessions')).json.data
  const admins = all.find((session: { name: string }) => session.name === ADMIN.email)
  test.match((await jane.call('DELETE', `/localUsers/me/sessions/${admins.id}`)).json, { code: 'NOT_FOUND' })
  test.equal((await jane.call('DELETE', `/localUsers/me/sessions/${mine[1].id}`)).status, 200)
  test.match((await anonymous('GET', '/localUsers/me', { token: second })).json, { code: 'TOKEN_EXPIRED' })
  test.equal((await jane.call('GET', '/localUsers/sessions')).status, 403)
  test.equal((await call('DELETE', `/localUsers/sessions/${mine[0].id}`)).status, 200)
  test.match((await jane.call('GET', '/localUsers/me')).json, { code: 'TOKEN_EXPIRED' })
})

t.test('a logout ends the session and every token of it', async (test) => {
  const { person } = await fixture(test)
  const jane = await person('jane@localhost')
  const refreshed = (await jane.call('GET', '/token')).json.data.token
  test.equal((await jane.call('DELETE', '/token')).status, 200)
  for (const token of [jane.token, refreshed]) {
    test.match((await jane.call('GET', '/localUsers/me', { token })).json, { code: 'TOKEN_EXPIRED' })
  }
})

t.test('an API token has the rights of its user, or fewer, and none over the account', async (test) => {
  const { person, call, anonymous, node } = await fixture(test)
  const jane = await person('jane@localhost', 'Operator')
  const catalog = (await call('GET', '/rbac/endpoints')).json.data
  const idOf = (name: string) => catalog.find((entry: { name: string }) => entry.name === name).id
  const make = (body: object) => jane.call('POST', '/localUsers/me/tokens', { body })
  const whole = (await make({ name: 'all' })).json.data
  const narrow = (await make({ name: 'narrow', endpoints: [idOf('services.list'), idOf('localUsers.create')] })).json
    .data
  test.match((await make({ name: 'all' })).json, { code: 'NAME_NOT_UNIQUE' })
  test.match((await make({ name: 'x', endpoints: ['nonsense'] })).json, { errors: [{ field: 'endpoints.0' }] })
  const asked = async (token: string, method: string, path: string) =>
    (await anonymous(method, path, { token, raw: method === 'GET' ? '' : '{}' })).status
  test.equal(await asked(whole.token, 'GET', '/services'), 200)
  test.equal(await asked(whole.token, 'GET', '/ipvsDirector/rips'), 200)
  test.equal(await asked(whole.token, 'POST', '/localUsers/users'), 403, 'not without the right of its user')
  test.equal(await asked(narrow.token, 'GET', '/services'), 200)
  test.equal(await asked(narrow.token, 'GET', '/ipvsDirector/rips'), 403)
  const denied = await anonymous('GET', '/ipvsDirector/rips', { token: narrow.token })
  test.equal(denied.json.message, 'This API token does not grant GET /ipvsDirector/rips')
  test.equal(await asked(narrow.token, 'POST', '/localUsers/users'), 403)
  for (const [method, path] of [
    ['GET', '/token'],
    ['GET', '/localUsers/me'],
    ['PUT', '/localUsers/me/password'],
    ['POST', '/localUsers/me/tokens'],
    ['POST', '/localUsers/me/2fa'],
    ['PUT', `/${node}/system/console`],
  ] as const) {
    test.ok((await asked(whole.token, method, path)) >= 403, `${method} ${path}`)
  }
  const shown = (await jane.call('GET', '/localUsers/me/tokens')).json.data
  test.match(shown, [
    { name: 'all', endpoints: null },
    { name: 'narrow', endpoints: [String, String] },
  ])
  test.notOk(JSON.stringify(shown).includes(whole.token.slice(-43)))
  test.equal((await jane.call('DELETE', `/localUsers/me/tokens/${whole.id}`)).status, 200)
  test.equal(await asked(whole.token, 'GET', '/services'), 401)
  const own = (await make({ name: 'own' })).json.data.token
  test.equal(await asked(own, 'DELETE', '/token'), 200, 'it ends itself')
  test.equal(await asked(own, 'GET', '/services'), 401)
  const { id: kept, token: other } = (await make({ name: 'kept' })).json.data
  for (const path of [`/localUsers/me/sessions/token%20${kept}`, `/localUsers/sessions/token%20${kept}`])
    test.equal((await call('DELETE', path)).status, 404, 'a token is no session')
  test.equal(await asked(other, 'GET', '/services'), 200)
  test.equal((await call('GET', '/localUsers/tokens')).json.data.length, 2)
  test.equal((await call('DELETE', `/localUsers/tokens/${narrow.id}`)).status, 200)
  test.equal(await asked(narrow.token, 'GET', '/services'), 401)
})

t.test('actions of a program are distinguished from those of its user', async (test) => {
  const { person, call, anonymous } = await fixture(test)
  const jane = await person('jane@localhost', 'Administrator')
  const { id, token } = (await jane.call('POST', '/localUsers/me/tokens', { body: { name: 'ci' } })).json.data
  await anonymous('POST', '/rbac/groups', { token, body: { name: 'by a program' } })
  await jane.call('POST', '/rbac/groups', { body: { name: 'by a person' } })
  const entries = (await call('GET', '/audit?endpoint=groups.create&limit=2')).json.data
  test.match(entries, [{ by: 'jane@localhost' }, { by: 'jane@localhost', token: id }])
  test.notOk('token' in entries[0])
})

t.test('an API token follows the rights of its user, and is deleted with him', async (test) => {
  const { person, call, anonymous } = await fixture(test)
  const jane = await person('jane@localhost', 'Operator')
  const { token } = (await jane.call('POST', '/localUsers/me/tokens', { body: { name: 'all', expiresInDays: null } }))
    .json.data
  const status = async () => (await anonymous('GET', '/services', { token })).status
  test.equal(await status(), 200)
  await call('PUT', `/localUsers/users/${jane.id}`, { body: { roles: [] } })
  await call('PUT', '/services/apply')
  test.equal(await status(), 403)
  await call('DELETE', `/localUsers/users/${jane.id}`)
  await call('PUT', '/services/apply')
  test.equal(await status(), 401)
  test.same((await call('GET', '/localUsers/tokens')).json.data, [])
})

t.test('a second factor is set up with a code of the device, and required from then on', async (test) => {
  const { person, enrol, codeFor, logIn } = await fixture(test)
  const jane = await person('jane@localhost')
  const wrong = await jane.call('POST', '/localUsers/me/2fa/confirm', { body: { code: '000000' } })
  test.match(wrong.json, { code: 'NOT_FOUND' })
  test.match((await jane.call('POST', '/localUsers/me/2fa', { body: { password: 'wrong' } })).json, {
    code: 'INVALID_CREDENTIALS',
  })
  const { secret, used, recoveryCodes } = await enrol(jane.call)
  test.equal(recoveryCodes.length, 10)
  test.match((await jane.call('POST', '/localUsers/me/2fa', { body: { password: PASSWORD } })).json, { code: 'IN_USE' })
  test.match((await logIn('jane@localhost')).json, { code: 'TWO_FACTOR_REQUIRED' })
  test.match((await logIn('jane@localhost', used)).json, { code: 'TWO_FACTOR_INVALID' }, 'used to confirm')
  test.equal((await logIn('jane@localhost', codeFor(secret, 1))).status, 200)
  test.equal((await logIn('jane@localhost', recoveryCodes[3])).status, 200)
  test.match((await jane.call('GET', '/localUsers/me')).json.data.secondFactor, { enabled: true, recoveryCodesLeft: 9 })
  const remove = (code: string) => jane.call('DELETE', '/localUsers/me/2fa', { body: { password: PASSWORD, code } })
  test.match((await remove('000000')).json, { code: 'TWO_FACTOR_INVALID' })
  test.equal((await remove(recoveryCodes[0] ?? '')).status, 200)
  test.equal((await logIn('jane@localhost')).status, 200)
})

t.test('a user who has lost the device is helped with the right to do so', async (test) => {
  const { person, enrol, logIn, call } = await fixture(test)
  const jane = await person('jane@localhost')
  test.match((await call('DELETE', `/localUsers/users/${jane.id}/2fa`)).json, { code: 'NOT_FOUND' })
  await enrol(jane.call)
  test.equal((await jane.call('DELETE', `/localUsers/users/${jane.id}/2fa`)).status, 403)
  test.equal((await call('DELETE', `/localUsers/users/${jane.id}/2fa`)).status, 200)
  test.equal((await logIn('jane@localhost')).status, 200)
  test.notOk(/secret|recovery/.test((await call('GET', `/localUsers/users/${jane.id}`)).text))
})

t.test('where everybody needs one, a session without can only set it up', async (test) => {
  const { person, enrol, codeFor, logIn, call, appliance } = await fixture(test)
  const jane = await person('jane@localhost', 'Administrator')
  await call('PUT', '/login/policy', { body: { twoFactorRequired: true } })
  await call('PUT', '/services/apply')
  const { json } = await logIn('jane@localhost')
  test.equal(json.data.mustEnrol, true)
  const limited = caller(appliance, json.data.token)
  const refused = await limited('GET', '/services')
  test.match(refused.json, { code: 'PERMISSION_DENIED', message: /Set up a second factor first/ })
  test.equal(refused.status, 403)
  test.match((await limited('POST', '/localUsers/me/tokens', { body: { name: 'around' } })).json, {
    code: 'PERMISSION_DENIED',
  })
  test.match((await limited('GET', '/localUsers/me')).json.data, { mustEnrol: true })
  const { secret } = await enrol(limited)
  test.equal((await limited('GET', '/services')).status, 200)
  const again = await logIn('jane@localhost', codeFor(secret, 1))
  test.equal(again.json.data.mustEnrol, undefined)
  test.equal((await jane.call('GET', '/services')).status, 200, 'earlier sessions continue')
})

t.test('a staged change of an administrator to the same field takes effect with an apply', async (test) => {
  const { person, call, logIn } = await fixture(test)
  const jane = await person('jane@localhost')
  await call('PUT', `/localUsers/users/${jane.id}`, { body: { password: 'by the administrator' } })
  const mine = { currentPassword: PASSWORD, newPassword: 'by the thief' }
  test.equal((await jane.call('PUT', '/localUsers/me/password', { body: mine })).status, 200)
  test.match((await call('GET', '/services/pending')).json.data.changes, [{ resource: 'users', resourceId: jane.id }])
  await call('PUT', '/services/apply')
  test.equal((await logIn('jane@localhost', undefined, 'by the thief')).status, 401)
  test.equal((await logIn('jane@localhost', undefined, 'by the administrator')).status, 200)
  test.equal((await jane.call('GET', '/localUsers/me')).status, 401, 'and the earlier sessions have ended')
})

t.test('a login with the old password during its change opens nothing that lasts', async (test) => {
  const { person, call, anonymous } = await fixture(test)
  const jane = await person('jane@localhost')
  let [current, next] = [PASSWORD, 'another-one']
  for (let round = 0; round < 6; round += 1) {
    const mine = { currentPassword: current, newPassword: next }
    const body = { email: 'jane@localhost', password: current }
    const logins = Array.from({ length: 4 }, (_, n) =>
      anonymous('POST', '/token', { body, address: `198.51.100.${round * 4 + n}` }),
    )
    const changed = jane.call('PUT', '/localUsers/me/password', { body: mine })
    await Promise.all([...logins, changed])
    test.equal((await changed).status, 200)
    const open = (await call('GET', '/localUsers/sessions')).json.data
    test.equal(open.filter((session: { userId: string }) => session.userId === jane.id).length, 1, 'her own')
    ;[current, next] = [next, `password of round ${round}`]
  }
})

t.test('tokens are counted and named before the disk is waited for', async (test) => {
  const { person } = await fixture(test)
  const jane = await person('jane@localhost')
  const made = await Promise.all(
    Array.from({ length: 8 }, () => jane.call('POST', '/localUsers/me/tokens', { body: { name: 'one' } })),
  )
  test.equal(made.filter(({ status }) => status === 201).length, 1)
})

t.test('a concurrent edit of a user and his own change of the password lose neither', async (test) => {
  const { person, call, logIn } = await fixture(test)
  const jane = await person('jane@localhost')
  const mine = { currentPassword: PASSWORD, newPassword: 'another-one' }
  const rename = (firstname: string) => call('PUT', `/localUsers/users/${jane.id}`, { body: { firstname } })
  const answers = await Promise.all([
    rename('First'),
    jane.call('PUT', '/localUsers/me/password', { body: mine }),
    rename('Second'),
  ])
  test.same(
    answers.map(({ status }) => status),
    [200, 200, 200],
  )
  await call('PUT', '/services/apply')
  test.equal((await logIn('jane@localhost', undefined, 'another-one')).status, 200)
  test.equal((await call('GET', `/localUsers/users/${jane.id}`)).json.data.firstName, 'Second')
})

t.test('a used recovery code stays used when its user is deleted and restored', async (test) => {
  const { person, enrol, logIn, call } = await fixture(test)
  const jane = await person('jane@localhost')
  const { recoveryCodes } = await enrol(jane.call)
  const before = (await call('GET', '/revisions?limit=1')).json.data[0].revision
  test.equal((await logIn('jane@localhost', recoveryCodes[0])).status, 200)
  await call('DELETE', `/localUsers/users/${jane.id}`)
  await call('PUT', '/services/apply')
  await call('PUT', `/revisions/${before}/restore`)
  await call('PUT', '/services/apply')
  test.match((await logIn('jane@localhost', recoveryCodes[0])).json, { code: 'TWO_FACTOR_INVALID' })
  test.equal((await logIn('jane@localhost', recoveryCodes[1])).status, 200)
})
