import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { applianceFixture, type Caller } from '../fixtures/appliance.ts'
import { concrete, createUser, endpoints, PASSWORD, roleIds } from './attack-fixture.ts'

async function fixture(test: Test, clock = systemClock) {
  const made = await applianceFixture(test, {}, {}, clock)
  const { call, anonymous, login } = made
  const roles = await roleIds(call)
  const user = await createUser(call, 'owner@localhost', [roles['Manager'] ?? ''])
  await createUser(call, 'other@localhost', [roles['Monitoring'] ?? ''])
  await call('PUT', '/services/apply')
  const session = await login('owner@localhost', PASSWORD)
  /** An API token of that user. */
  const create = async (body: Readonly<Record<string, unknown>>, token = session) => {
    const answer = await anonymous('POST', '/localUsers/me/tokens', { token, body })
    if (answer.status !== 201) throw new Error(answer.text)
    return { id: String(answer.json.data.id), token: String(answer.json.data.token) }
  }
  const idOf = async (method: string, path: string) => {
    const { json } = await call('GET', '/rbac/endpoints')
    const list: readonly { id: string; method: string; path: string }[] = json.data
    return list.find((entry) => entry.method === method && entry.path === path)?.id ?? ''
  }
  return { ...made, roles, user, session, create, idOf }
}
const reads = async (call: Caller, token: string, path = '/ipvsDirector/rips') =>
  (await call('GET', path, { token })).status

t.test('API tokens that differ from the created one: refused', async (test) => {
  const { anonymous, create, login } = await fixture(test)
  const one = await create({ name: 'one' })
  const two = await create({ name: 'two' }, await login('other@localhost', PASSWORD))
  test.equal(await reads(anonymous, one.token), 200)
  const secretOf = (token: string) =>
    token.slice(token.lastIndexOf(`${token.includes(two.id) ? two.id : one.id}_`) + 37)
  const forged = [
    one.token.slice(0, -1),
    one.token.slice(0, -10),
    `${one.token}x`,
    `${one.token} `,
    one.token.toUpperCase(),
    one.token.toLowerCase() === one.token ? 'fulcrum_' : one.token.toLowerCase(),
    one.token.replace(one.id, two.id),
    two.token.replace(two.id, one.id),
    one.token.replace(one.id, ''),
    one.token.replace(one.id, '__proto__'),
    one.token.replace(one.id, 'unknown'),
    `fulcrum_${one.id}`,
    `fulcrum_${one.id}_`,
    `fulcrum__${secretOf(one.token)}`,
    `fulcrum_${one.id}_${one.id}`,
    'fulcrum_',
    'fulcrum___',
    `fulcrum_${'_'.repeat(100_000)}`,
    `fulcrum_${one.id}_${'a'.repeat(1_000_000)}`,
    one.token.slice('fulcrum_'.length),
    `Fulcrum_${one.token.slice('fulcrum_'.length)}`,
  ]
  for (const token of forged) test.equal(await reads(anonymous, token), 401, token.slice(0, 90))
})

t.test(
  'an API token ends with its expiry or revocation, and counts for nothing while its user is disabled or deleted',
  async (test) => {
    let passed_ms = 0
    const clock = { ...systemClock, now_ms: () => systemClock.now_ms() + passed_ms }
    const { anonymous, call, create, user } = await fixture(test, clock)
    const [day, kept, revoked] = [
      await create({ name: 'day', expiresInDays: 1 }),
      await create({ name: 'kept' }),
      await create({ name: 'revoked' }),
    ]
    await call('DELETE', `/localUsers/tokens/${revoked.id}`)
    test.equal(await reads(anonymous, revoked.token), 401, 'revoked by an administrator')
    await call('PUT', `/localUsers/users/${user}`, { body: { disabled: 'true' } })
    await call('PUT', '/services/apply')
    for (const { token } of [day, kept]) test.equal(await reads(anonymous, token), 401, 'disabled')
    await call('PUT', `/localUsers/users/${user}`, { body: { disabled: 'false', roles: [] } })
    await call('PUT', '/services/apply')
    for (const { token } of [day, kept]) test.equal(await reads(anonymous, token), 403, 'roles removed')
    test.equal(await reads(anonymous, revoked.token), 401)
    passed_ms = 86_401_000
    test.equal(await reads(anonymous, day.token), 401, 'expired')
    const { token } = (
      await anonymous('POST', '/token', { body: { email: 'admin@localhost', password: 'correct horse battery' } })
    ).json.data
    await call('DELETE', `/localUsers/users/${user}`, { token })
    await call('PUT', '/services/apply', { token })
    test.equal(await reads(anonymous, kept.token), 401, 'its user is deleted')
  },
)

t.test('an API token grants only its own endpoints, and nothing that its user may not do', async (test) => {
  const { anonymous, node, create, idOf } = await fixture(test)
  const wanted = [await idOf('GET', '/ipvsDirector/rips'), await idOf('POST', '/localUsers/users')]
  const { token } = await create({ name: 'narrow', endpoints: wanted })
  const none = await create({ name: 'none', endpoints: [] })
  test.equal(await reads(anonymous, none.token), 403)
  const allowed: string[] = []
  for (const { method, path, access, ofAnyCaller } of endpoints) {
    if (access === 'public' || ofAnyCaller) continue
    const { status } = await anonymous(method, concrete(path, node), {
      token,
      ...(method === 'GET' ? {} : { raw: '{' }),
    })
    if (status !== 403) allowed.push(`${method} ${path}`)
  }
  // Its user, a Manager, may not create users, whatever the token says.
  test.same(allowed, ['GET /ipvsDirector/rips'])
})

t.test(
  'an API token has no account: password, second factor, sessions and tokens are refused to it; it may end itself',
  async (test) => {
    const { anonymous, node, create, login } = await fixture(test)
    const { token } = await create({ name: 'all' }, await login('admin@localhost', 'correct horse battery'))
    test.equal(await reads(anonymous, token, '/rbac/roles'), 200)
    const own = endpoints.filter(({ access, ofAnyCaller }) => access === 'authenticated' && !ofAnyCaller)
    test.ok(own.length >= 11)
    for (const { method, path } of own) {
      const answer = await anonymous(method, concrete(path, node), {
        token,
        ...(method === 'GET' ? {} : { raw: '{}' }),
      })
      test.match(answer, { status: 403, json: { code: 'PERMISSION_DENIED' } }, `${method} ${path}`)
    }
    test.match(await anonymous('DELETE', '/token', { token }), { status: 200 })
    test.equal(await reads(anonymous, token, '/rbac/roles'), 401)
  },
)

t.test('a user cannot end sessions or revoke tokens of another as if they were his own', async (test) => {
  const { anonymous, call, create, login, session } = await fixture(test)
  const other = await login('other@localhost', PASSWORD)
  const { id, token } = await create({ name: 'mine' })
  const sessions: readonly { id: string; name: string }[] = (await call('GET', '/localUsers/sessions')).json.data
  const owners = sessions.filter(({ name }) => name === 'owner@localhost')
  for (const entry of owners) {
    const answer = await anonymous('DELETE', `/localUsers/me/sessions/${entry.id}`, { token: other })
    test.equal(answer.status, 404)
  }
  test.equal((await anonymous('DELETE', `/localUsers/me/tokens/${id}`, { token: other })).status, 404)
  test.equal((await anonymous('DELETE', `/localUsers/tokens/${id}`, { token: other })).status, 403)
  test.equal(await reads(anonymous, token), 200)
  test.equal(await reads(anonymous, session), 200)
  const seen = [
    ...(await anonymous('GET', '/localUsers/me/sessions', { token: other })).json.data,
    ...(await anonymous('GET', '/localUsers/me/tokens', { token: other })).json.data,
  ]
  test.same(
    seen.filter(({ userId }) => userId === owners[0]?.id),
    [],
  )
})
