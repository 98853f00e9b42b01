import t, { type Test } from 'tap'
import { ADMIN } from '../fixtures/appliance.ts'
import { sharedAppliance } from '../fixtures/shared-appliance.ts'
import { oidcProvider } from '../simulators/oidc-provider.ts'

const borrow = sharedAppliance(t)

const ANN = { email: 'ann@corp.example', groups: ['/operators', '/others'] }
const RIPS = '/ipvsDirector/rips'

async function fixture(test: Test) {
  const parts = await borrow()
  const { call, anonymous } = parts
  const provider = await oidcProvider(test)
  const created = async (path: string, body: object) => {
    const answer = await call('POST', path, { body })
    test.equal(answer.status, 201, answer.text)
    return String(answer.json.data.id)
  }
  const put = (body: object) => call('PUT', '/oidc/config', { body })
  const apply = async (body?: object) => {
    const answer = await call('PUT', '/services/apply', body === undefined ? {} : { body })
    test.equal(answer.status, 200, answer.text)
  }
  const roleOf = (name: string, endpoints: readonly object[]) =>
    created('/rbac/roles', { name, users: [], groups: [], endpoints })
  const readers = await roleOf('readers', [{ path: RIPS, methods: ['GET'] }])
  const groups = { groupsClaim: 'groups', groupMappings: [{ group: '/operators', roles: [readers] }] }
  test.equal((await put({ ...provider.config, ...groups })).status, 200)
  await apply()
  const logIn = async (claims: object = ANN) => {
    provider.told.claims = claims as typeof provider.told.claims
    const begun = await anonymous('GET', '/oidc/login')
    const cookie = (begun.headers['Set-Cookie'] ?? '').split(';')[0] ?? ''
    const back = new URL(provider.authorize(begun.headers['Location'] ?? '')).search
    const page = await anonymous('GET', `/oidc/callback${back}`, { headers: { cookie } })
    const code = /<code id="code">([^<]+)</.exec(page.text)?.[1] ?? ''
    return anonymous('POST', '/oidc/token', { body: { code } })
  }
  /** Calls as a user who has logged in. */
  const enter = async (claims: object = ANN) => {
    const opened = await logIn(claims)
    test.equal(opened.status, 200, opened.text)
    const { token } = opened.json.data
    return (method: Parameters<typeof anonymous>[0], path: string, body?: object) =>
      anonymous(method, path, { token, ...(body && { body }) })
  }
  return { ...parts, provider, created, put, apply, roleOf, readers, logIn, enter }
}

t.test('a user without a record has the rights mapped to his groups, and an account that says so', async (test) => {
  const { enter, readers, call } = await fixture(test)
  const ask = await enter()
  const me = (await ask('GET', '/localUsers/me')).json.data
  test.match(me, { email: ANN.email, kind: 'oidc', groups: [], roles: [readers], mustEnrol: false, firstName: '' })
  test.equal(me.endpoints.length, 1)
  test.equal((await ask('GET', RIPS)).status, 200)
  test.match((await ask('GET', '/localUsers/users')).json, { code: 'PERMISSION_DENIED' })
  const mine = (await ask('GET', '/localUsers/me/sessions')).json.data
  test.match(mine, [{ name: ANN.email, via: 'oidc', userId: me.id, isCurrent: true }])
  const everybody = (await call('GET', '/localUsers/sessions?q=ann@')).json.data
  test.match(everybody, [{ name: ANN.email, via: 'oidc' }])
  test.match((await call('GET', `/localUsers/users/${me.id}`)).json, { code: 'NOT_FOUND' }, 'there is no record')
  test.equal((await call('DELETE', `/localUsers/sessions/${everybody[0].id}`)).status, 200)
  test.match((await ask('GET', RIPS)).status, 401)
})

t.test('endpoints of local users are not supported, and no second factor is required', async (test) => {
  const { enter, call, apply } = await fixture(test)
  await call('PUT', '/login/policy', { body: { twoFactorRequired: true } })
  await apply()
  const ask = await enter()
  test.equal((await ask('GET', RIPS)).status, 200, 'the provider has its own factors')
  const password = { currentPassword: 'x', newPassword: 'a long enough one' }
  for (const [method, path, body] of [
    ['POST', '/localUsers/me/tokens', { name: 'a program' }],
    ['PUT', '/localUsers/me/password', password],
    ['POST', '/localUsers/me/2fa', { password: 'x' }],
    ['POST', '/localUsers/me/2fa/confirm', { code: '123456' }],
    ['DELETE', '/localUsers/me/2fa', { password: 'x', code: '123456' }],
  ] as const)
    test.match((await ask(method, path, body)).json, { code: 'NOT_SUPPORTED', message: /provider/ }, path)
  const { id } = (await ask('GET', '/localUsers/me')).json.data
  test.match((await call('DELETE', `/localUsers/users/${id}/2fa`)).json, { code: 'NOT_SUPPORTED' })
})

t.test('a user in no mapped group is refused, or admitted without any right', async (test) => {
  const { logIn, enter, put, apply } = await fixture(test)
  for (const groups of [undefined, [], ['/others'], 'operators', 7, { '/operators': 1 }, '<b>/operators</b>'])
    test.match((await logIn({ ...ANN, groups })).json, { code: 'INVALID_CREDENTIALS', message: /none of your groups/ })
  test.match((await logIn({ ...ANN, email: '<b>ann</b>@corp.example' })).json, { code: 'INVALID_CREDENTIALS' })
  test.equal((await logIn({ ...ANN, groups: '/operators' })).status, 200, 'one text is one group')
  await put({ denyUnmapped: false })
  await apply()
  const ask = await enter({ ...ANN, groups: ['/others'] })
  test.match((await ask('GET', '/localUsers/me')).json.data, { roles: [], endpoints: [] })
  test.match((await ask('GET', RIPS)).json, { code: 'PERMISSION_DENIED' })
  await put({ groupsClaim: null })
  await apply()
  test.equal((await ask('GET', '/localUsers/me')).status, 401)
  test.match((await logIn()).json, { code: 'INVALID_CREDENTIALS', message: /no local user with this e-mail/ })
})

t.test('a mapping that an apply removes ends its rights at once, and for good', async (test) => {
  const { enter, put, apply, call, readers, roleOf } = await fixture(test)
  const ask = await enter()
  const others = await roleOf('others', [{ path: '/services', methods: ['GET'] }])
  await put({ groupMappings: [{ group: '/operators', roles: [others] }] })
  test.equal((await ask('GET', RIPS)).status, 200, 'a staged change grants and removes nothing')
  await apply()
  test.match((await ask('GET', RIPS)).json, { code: 'PERMISSION_DENIED' })
  test.equal((await ask('GET', '/services')).status, 200)
  await put({ groupMappings: [{ group: '/elsewhere', roles: [readers] }] })
  await apply()
  test.equal((await ask('GET', '/services')).status, 401)
  test.same((await call('GET', '/localUsers/sessions?q=ann@')).json.data, [])
  await put({ groupMappings: [{ group: '/operators', roles: [others] }] })
  await apply()
  test.equal((await ask('GET', '/services')).status, 401, 'the session does not come back')
})

t.test('changing a role changes its mappings, and a mapped role cannot be deleted', async (test) => {
  const { enter, call, apply, readers, put } = await fixture(test)
  const ask = await enter()
  await call('PUT', `/rbac/roles/${readers}`, { body: { endpoints: [{ path: '/services', methods: ['GET'] }] } })
  await apply()
  test.match((await ask('GET', RIPS)).json, { code: 'PERMISSION_DENIED' })
  const used = await call('DELETE', `/rbac/roles/${readers}`)
  test.match(used.json, { code: 'IN_USE', message: /used by OIDC configuration/ })
  await put({ groupMappings: [] })
  test.equal((await call('DELETE', `/rbac/roles/${readers}`)).status, 200)
  await apply()
  test.equal((await ask('GET', '/localUsers/me')).status, 401)
})

t.test('mappings are checked by field, and roles may be named', async (test) => {
  const { put, call, readers } = await fixture(test)
  const fields = async (groupMappings: unknown) =>
    ((await put({ groupMappings })).json.errors ?? []).map(({ field }: { field: string }) => field)
  test.same(await fields([{ group: 'a', roles: ['nobody'] }]), ['groupMappings.0.roles.0'])
  test.same(await fields([{ group: '', roles: [readers] }]), ['groupMappings.0.group'])
  test.same(await fields([{ group: 'a', roles: [] }]), ['groupMappings.0.roles'])
  test.same(await fields([{ group: 'a\u0000', roles: [readers] }]), ['groupMappings.0.group'])
  test.same(await fields([{ group: 'x'.repeat(257), roles: [readers] }]), ['groupMappings.0.group'])
  const twice = ['a', 'b', 'a'].map((group) => ({ group, roles: [readers] }))
  test.same(await fields(twice), ['groupMappings.2.group'])
  const many = Array.from({ length: 201 }, (_, n) => ({ group: `g${n}`, roles: [readers] }))
  test.same(await fields(many), ['groupMappings'])
  test.equal((await put({ groupMappings: [{ group: 'a', roles: [{ name: 'Administrator' }] }] })).status, 200)
  const { groupMappings } = (await call('GET', '/oidc/config')).json.data
  test.match((await call('GET', `/rbac/roles/${groupMappings[0].roles[0]}`)).json.data, { name: 'Administrator' })
  test.equal((await put({ groupsClaim: null, groupMappings: null, denyUnmapped: null })).status, 200)
  const cleared = (await call('GET', '/oidc/config')).json.data
  test.match(cleared, { groupsClaim: null, groupMappings: [], denyUnmapped: true })
})

t.test('a local user has the rights of his record, whatever groups the provider names', async (test) => {
  const { enter, logIn, call, apply, created } = await fixture(test)
  const names = { firstname: 'Ann', lastname: 'Doe', password: 'a-password', disabled: false }
  const visitor = await enter()
  const id = await created('/localUsers/users', { ...names, email: 'Ann@corp.example' })
  await apply()
  test.equal((await visitor('GET', RIPS)).status, 401, 'one name is one user')
  const ask = await enter()
  test.match((await ask('GET', '/localUsers/me')).json.data, { id, kind: 'local', roles: [], endpoints: [] })
  test.match((await ask('GET', RIPS)).json, { code: 'PERMISSION_DENIED' })
  await call('PUT', `/localUsers/users/${id}`, { body: { disabled: true } })
  await apply()
  test.match((await logIn()).json, { code: 'USER_DISABLED' })
  test.equal((await ask('GET', '/localUsers/me')).status, 401)
})

t.test('the last login counts: a user with fewer groups now has no session with more', async (test) => {
  const { enter, put, apply, readers, roleOf, call } = await fixture(test)
  const others = await roleOf('others', [{ path: '/services', methods: ['GET'] }])
  const mapped = [
    { group: '/operators', roles: [readers] },
    { group: '/others', roles: [others] },
  ]
  await put({ groupMappings: mapped })
  await apply()
  const before = await enter()
  test.equal((await before('GET', '/services')).status, 200)
  const now = await enter({ ...ANN, groups: ['/operators'] })
  test.match((await now('GET', '/services')).json, { code: 'PERMISSION_DENIED' })
  test.equal((await now('GET', RIPS)).status, 200)
  test.equal((await before('GET', '/localUsers/me')).status, 401)
  const [entry] = (await call('GET', '/audit?endpoint=oidc.token&limit=1')).json.data
  test.match(entry, { by: ANN.email, via: 'oidc', outcome: 'done' })
})

t.test('an administrator by a group acts under his name, and is not the last one', async (test) => {
  const { enter, put, apply, call } = await fixture(test)
  await put({ groupMappings: [{ group: '/operators', roles: [{ name: 'Administrator' }] }] })
  await apply()
  const ask = await enter()
  test.equal((await ask('POST', RIPS, { name: 'web1', ip: '192.0.2.7', port: 80 })).status, 201)
  test.match((await ask('GET', '/services/pending')).json.data.changes, [{ by: ANN.email }])
  test.equal((await ask('PUT', '/services/apply', { confirmWithin: 60 })).status, 200)
  test.equal((await ask('PUT', '/services/apply/confirm')).status, 200)
  test.match((await call('GET', '/audit?limit=1')).json.data, [{ by: ANN.email, endpoint: 'services.confirm' }])
  const { id } = (await call('GET', '/localUsers/me')).json.data
  for (const [method, body] of [['DELETE'], ['PUT', { disabled: true }]] as const)
    test.match((await ask(method, `/localUsers/users/${id}`, body)).json, { code: 'IN_USE' })
  await put({ enforced: true, breakGlassUserId: id })
  await apply()
  test.equal((await ask('GET', RIPS)).status, 200)
  const password = { email: ANN.email, password: 'whatever' }
  test.match((await ask('POST', '/token', password)).json, { code: 'INVALID_CREDENTIALS' }, 'there is no password')
  test.equal((await call('GET', '/localUsers/me')).json.data.email, ADMIN.email)
})

t.test('a right to some records covers only these', async (test) => {
  const { enter, put, apply, roleOf, created } = await fixture(test)
  const where = { owner: 'shop' }
  const shop = await roleOf('shop', [
    { path: RIPS, methods: ['GET', 'POST'], where },
    { path: `${RIPS}/{id}`, methods: ['PUT'], where },
  ])
  await put({ groupMappings: [{ group: '/operators', roles: [shop] }] })
  const ours = await created(RIPS, { name: 'ours', ip: '192.0.2.7', port: 80, owner: 'shop' })
  const theirs = await created(RIPS, { name: 'theirs', ip: '192.0.2.8', port: 80, owner: 'bank' })
  await apply()
  const ask = await enter()
  test.match((await ask('GET', RIPS)).json.data, [{ id: ours }])
  test.equal((await ask('PUT', `${RIPS}/${ours}`, { port: 81 })).status, 200)
  test.equal((await ask('PUT', `${RIPS}/${theirs}`, { port: 81 })).status, 404)
  test.match((await ask('GET', '/localUsers/me')).json.data.confined, [{ where }, { where }, { where }])
})
