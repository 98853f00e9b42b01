import t, { type Test } from 'tap'
import type { RadiusHost } from '../../src/model/sign-in.ts'
import { ADMIN, applianceFixture } from '../fixtures/appliance.ts'
import { silentHost } from '../simulators/radius-server.ts'
import { freeradius, freeradiusObstacle, SHARED_SECRET } from './freeradius.ts'

/** Logins at a daemon whose users a real FreeRADIUS knows. */

t.setTimeout(1_800_000)
const skip = (await freeradiusObstacle()) ?? false
const PASSWORD = 'correct horse'

async function daemon(test: Test, hosts: readonly RadiusHost[], more: object = {}) {
  const fixture = await applianceFixture(test)
  const { call, anonymous } = fixture
  const done = async (method: string, path: string, body?: object) => {
    const answer = await call(method, path, body === undefined ? {} : { body })
    if (answer.status > 201) throw new Error(`${method} ${path}: ${answer.text}`)
    return answer.json.data
  }
  const configure = async (body: object) => {
    await done('PUT', '/radius/config', body)
    await done('PUT', '/services/apply')
  }
  for (const id of ['ops', 'readers']) await done('POST', '/rbac/groups', { id, name: id })
  const endpoints = [{ path: '/ipvsDirector/rips', methods: ['GET'] }]
  await done('POST', '/rbac/roles', { name: 'readers of servers', users: [], groups: ['ops'], endpoints })
  await configure({
    enabled: true,
    hosts,
    sharedSecret: SHARED_SECRET,
    timeout: 20,
    groupAttribute: 'Filter-Id',
    groupMappings: [{ value: 'ops', groupId: 'ops' }],
    ...more,
  })
  let address = 1
  /** From another address each time, so that no failure locks out the next one. */
  const login = (email: string, password = PASSWORD, from = `192.0.2.${(address += 1)}`) =>
    anonymous('POST', '/token', { body: { email, password }, address: from })
  return { ...fixture, done, configure, login }
}

t.test(
  'provisioned at the first login, with the rights of the groups; the next one updates them',
  { skip },
  async (test) => {
    const { host } = await freeradius(test)
    const { login, done, configure, anonymous } = await daemon(test, [host])
    test.same(await done('GET', '/radius/users'), [])
    const first = await login('alice')
    test.equal(first.status, 200, first.text)
    const [alice] = await done('GET', '/radius/users')
    test.match(alice, { username: 'alice', disabled: false, groups: ['ops'], createdAt: /^2\d{3}-.*Z$/ })
    test.same(await done('GET', `/radius/users/${alice.id}`), alice)
    test.equal((await done('GET', '/services/pending')).count, 0, 'the update is not a pending change')
    const { token } = first.json.data
    test.equal((await anonymous('GET', '/ipvsDirector/rips', { token })).status, 200, 'the role of the group')
    const body = { name: 'x', ip: '192.0.2.1', port: 80 }
    test.equal((await anonymous('POST', '/ipvsDirector/rips', { token, body })).status, 403, 'and no more')

    const groupMappings = [{ value: 'readers', groupId: 'readers' }]
    await configure({ groupMappings })
    test.equal((await login('alice')).status, 200)
    test.match(await done('GET', '/radius/users'), [{ id: alice.id, username: 'alice', groups: ['readers'] }])
    test.equal((await anonymous('GET', '/ipvsDirector/rips', { token })).status, 403, 'the earlier rights are gone')
  },
)

t.test('two concurrent first logins create one user', { skip }, async (test) => {
  const { host } = await freeradius(test)
  const { login, done } = await daemon(test, [host])
  const answers = await Promise.all([login('alice'), login('Alice'), login('alice')])
  // FreeRADIUS distinguishes names by case.
  test.same(
    answers.map(({ status }) => status),
    [200, 401, 200],
  )
  test.equal((await done('GET', '/radius/users')).length, 1)
})

t.test(
  'wrong passwords, unknown names and users without a group: one refusal, and no user is created',
  { skip },
  async (test) => {
    const { host } = await freeradius(test)
    const { login, done } = await daemon(test, [host])
    const answers = [await login('alice', 'wrong'), await login('nobody'), await login('nogroup')]
    for (const { json } of answers) test.match(json, { code: 'INVALID_CREDENTIALS', message: answers[0]?.json.message })
    test.same(await done('GET', '/radius/users'), [])
    for (let count = 0; count < 5; count += 1) await login('alice', 'wrong', '198.51.100.1')
    test.equal((await login('alice', PASSWORD, '198.51.100.1')).json.code, 'RATE_LIMITED')
  },
)

t.test('a local user is never looked up at a RADIUS server', { skip }, async (test) => {
  const users = `${ADMIN.email} Cleartext-Password := "of the server"\n\tFilter-Id = "ops"\n`
  const { host } = await freeradius(test, { users })
  const { login, done } = await daemon(test, [host])
  test.equal((await login(ADMIN.email, 'of the server')).json.code, 'INVALID_CREDENTIALS')
  test.equal((await login(ADMIN.email, ADMIN.password)).status, 200)
  test.same(await done('GET', '/radius/users'), [])
})

t.test('disabled: logged out and refused after apply; enabled: admitted again', { skip }, async (test) => {
  const { host } = await freeradius(test)
  const { login, done, anonymous } = await daemon(test, [host])
  const { token } = (await login('alice')).json.data
  const [{ id }] = await done('GET', '/radius/users')
  await done('PUT', `/radius/users/${id}`, { disabled: true })
  test.equal((await anonymous('GET', '/token', { token })).status, 200, 'only staged')
  await done('PUT', '/services/apply')
  test.equal((await anonymous('GET', '/token', { token })).status, 401)
  test.match(await login('alice'), { status: 403, json: { code: 'USER_DISABLED' } })
  test.equal(
    (await login('alice', 'wrong')).json.code,
    'INVALID_CREDENTIALS',
    'only the right password gets that reason',
  )
  await done('PUT', `/radius/users/${id}`, { disabled: false })
  await done('PUT', '/services/apply')
  test.equal((await login('alice')).status, 200)
})

t.test('deleted: logged out after apply, and created again at the next login', { skip }, async (test) => {
  const { host } = await freeradius(test)
  const { login, done, anonymous } = await daemon(test, [host])
  const { token } = (await login('alice')).json.data
  const [{ id }] = await done('GET', '/radius/users')
  await done('DELETE', `/radius/users/${id}`)
  await done('PUT', '/services/apply')
  test.equal((await anonymous('GET', '/token', { token })).status, 401)
  test.same(await done('GET', '/radius/users'), [])
  test.equal((await login('alice')).status, 200)
  const [anew] = await done('GET', '/radius/users')
  test.equal(anew.username, 'alice')
  test.equal(anew.id, id)
})

t.test('all servers are down: local users still log in', { skip }, async (test) => {
  const { host, stop } = await freeradius(test)
  const { login, configure } = await daemon(test, [host])
  test.equal((await login('alice')).status, 200)
  await stop()
  const down = await login('alice')
  test.equal(down.json.code, 'INVALID_CREDENTIALS')
  test.equal((await login(ADMIN.email, ADMIN.password)).status, 200)
  await configure({ hosts: [await silentHost(test)], timeout: 2, retries: 0 })
  const waiting = Array.from({ length: 20 }, () => login('alice'))
  test.equal((await login(ADMIN.email, ADMIN.password)).status, 200, 'while others wait for a silent server')
  for (const { status } of await Promise.all(waiting)) test.ok(status === 401 || status === 429, `${status}`)
})

t.test('switched off: no server is asked', { skip }, async (test) => {
  const { host } = await freeradius(test)
  const { login, configure } = await daemon(test, [host])
  await configure({ enabled: false })
  test.equal((await login('alice')).json.code, 'INVALID_CREDENTIALS')
})

t.test('POST /radius/config/test reports how far a login gets, and leaves nothing behind', { skip }, async (test) => {
  const signing = await freeradius(test)
  const old = await freeradius(test, { signs: false })
  const { done } = await daemon(test, [signing.host])
  const tested = (more: object) =>
    done('POST', '/radius/config/test', { username: 'alice', password: PASSWORD, timeout: 20, ...more })
  test.match(await tested({}), { stage: 'authorize', ok: true, groups: ['ops'], values: ['ops', 'readers'] })
  for (const authProtocol of ['CHAP', 'MSCHAPv2'])
    test.match(await tested({ authProtocol }), { stage: 'authorize', ok: true })
  test.match(await tested({ password: 'wrong' }), { stage: 'authenticate', ok: false })
  test.match(await tested({ username: 'nogroup' }), { stage: 'authorize', ok: false })
  const quick = { timeout: 1, retries: 0 }
  const another = { ...signing.host, sharedSecret: 'another' }
  test.match(await tested({ hosts: [another], ...quick }), {
    stage: 'connect',
    ok: false,
    message: /(?:another|a different) shared secret/,
  })
  // Its answer has to arrive within this time, which is waited out in full.
  test.match(await tested({ hosts: [old.host], timeout: 5, retries: 0 }), {
    stage: 'connect',
    message: /without Message-Authenticator/,
  })
  const allowed = { hosts: [old.host], requireMessageAuthenticator: false }
  test.match(await tested(allowed), { stage: 'authorize', ok: true })
  test.same(await done('GET', '/radius/users'), [])
  test.equal((await done('GET', '/services/pending')).count, 0)
})
