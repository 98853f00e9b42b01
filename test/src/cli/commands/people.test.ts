import type { IncomingMessage, ServerResponse } from 'node:http'
import t from 'tap'
import { hotp } from '../../../../src/auth/totp.ts'
import { cliFixture } from '../../../fixtures/cli.ts'
import { httpServer } from '../../../fixtures/traffic.ts'

const fixture = cliFixture(t)
// Empty variables count as unset.
const PASSWORDS = { answers: ['a-good-password', 'a-good-password'], env: { FULCRUM_NEW_PASSWORD: '' } }
const ADD = 'user add jane@test --first-name Jane --last-name Doe'

t.test('a user is added, gets another password, is disabled and enabled, and deleted', async (test) => {
  const { run, call } = await fixture(test)
  const login = async (password: string) =>
    (await call('POST', '/token', { body: { email: 'jane@test', password }, token: '' })).json
  test.match(await run(`${ADD} --role Monitoring`, PASSWORDS), { exit: 0, out: 'The user jane@test may log in.\n' })
  test.match((await run('get users')).out, /jane@test +Jane +Doe +on/)
  test.match(await login('a-good-password'), { status: 'success' })
  test.match((await run('get roles Monitoring')).out, /Monitoring +1 +0/)

  const env = { FULCRUM_NEW_PASSWORD: 'another-password' }
  test.match(await run('users password jane@test', { env }), { exit: 0, out: /has a new password\.\n/ })
  test.match(await login('another-password'), { status: 'success' })
  test.match(await run('user disable jane@test -m gone'), { exit: 0, out: /cannot log in\.\n/ })
  test.match(await login('another-password'), { code: 'USER_DISABLED' })
  test.match(await run('user disable jane@test'), { exit: 0, out: /cannot log in already\.\n/ })
  test.match(await run('user enable jane@test --stage'), { exit: 0, out: /may log in, once it is applied\.\n/ })
  test.match(await login('another-password'), { code: 'USER_DISABLED' })
  test.match(await run('user enable jane@test'), { exit: 0 })
  const { token } = (await login('another-password')).data
  const begun = await call('POST', '/localUsers/me/2fa', { body: { password: 'another-password' }, token })
  const code = hotp(begun.json.data.secret, Math.floor(Date.now() / 30_000))
  await call('POST', '/localUsers/me/2fa/confirm', { body: { code }, token })
  test.match(await login('another-password'), { code: 'TWO_FACTOR_REQUIRED' })
  test.match(await run('user reset-code jane@test'), { exit: 0, out: /Second factor of user .* is off/ })
  test.match(await login('another-password'), { status: 'success' })
  test.match(await run('user delete jane@test --json'), { exit: 0, out: /"changed": true/ })
  test.match(await run('user delete jane@test'), { exit: 1, err: /there is no user jane@test: fulcrum get users/ })
})

t.test('a password is typed twice, never shown, and a weak one is refused with its field', async (test) => {
  const { run } = await fixture(test)
  test.match(await run(ADD, { answers: ['a-good-password', 'another'] }), { exit: 1, err: /two entries differ/ })
  test.match(await run(ADD, { answers: ['short', 'short'] }), { exit: 1, err: /PASSWORD_POLICY/ })
  test.match(await run(ADD), { exit: 1, err: /: set FULCRUM_NEW_PASSWORD when input is not a terminal/ })
  test.match(await run('user add jane@test --first-name Jane', PASSWORDS), { exit: 1, err: /--last-name/ })
  test.match(await run(`${ADD} --group none`, PASSWORDS), { exit: 1, err: /there is no group none/ })
  test.match(await run(`${ADD} --role none`, PASSWORDS), { exit: 1, err: /there is no role none/ })
  test.match((await run('get users')).out, /^EMAIL.*\nadmin@localhost[^\n]*\n$/)
})

t.test('a role is created from its rights, assigned and removed, and deleted', async (test) => {
  const { run, call } = await fixture(test)
  await run(ADD, PASSWORDS)
  const allow = ['role', 'add', 'readers', '--allow', 'GET /services', '--allow', 'get /ipvsDirector/rips/{id}']
  test.match(await run(allow), { exit: 0, out: 'The role readers is added.\n' })
  const role = async () => (await call('GET', '/rbac/roles?name=readers')).json.data[0]
  test.match((await role()).endpoints, [{ path: '/ipvsDirector/rips/{id}', methods: ['GET'] }, { path: '/services' }])
  await call('POST', '/rbac/groups', { body: { id: 'ops', name: 'Ops' } })
  await call('PUT', '/services/apply')
  test.match(await run('role give readers --user jane@test --group ops'), { exit: 0, out: /is assigned\.\n/ })
  test.match(await role(), { users: { length: 1 }, groups: ['ops'] })
  test.match(await run('role take readers --group opz'), { exit: 1, err: /no group opz: fulcrum get groups/ })
  test.match((await run('get groups')).out, /NAME +ID +USERS +ROLES\nOps +ops +0 +1\n/)
  await call('POST', '/rbac/groups', { body: { id: 'g-1', name: 'Shop Floor' } })
  await call('PUT', '/services/apply')
  test.match(await run(['role', 'give', 'readers', '--group', 'shop floor']), { exit: 0, out: /is assigned\.\n/ })
  test.match(await role(), { groups: ['g-1', 'ops'] })
  test.match(await run('role take readers --group g-1'), { exit: 0, out: /is withdrawn\.\n/ })
  test.match(await run('role give readers --user admin@localhost'), { exit: 0 })
  test.match(await role(), { users: { length: 2 }, groups: ['ops'] })
  test.match(await run('roles take readers --user jane@test --group ops'), { exit: 0, out: /is withdrawn\.\n/ })
  test.match(await role(), { users: { length: 1 }, groups: [] })
  test.match((await run('pending')).out, /Nothing/)
  test.match(await run('role delete readers'), { exit: 0, out: 'The role readers is deleted.\n' })
  test.match(await run('role give readers --user jane@test'), { exit: 1, err: /there is no role readers/ })
  test.match(await run('role give Monitoring'), { exit: 1, err: /use --user or --group/ })
  test.match(await run(['role', 'add', 'x', '--allow', 'PATCH /services']), {
    exit: 1,
    err: /give a method and a path/,
  })
  test.match(await run(['role', 'add', 'x', '--allow', 'GET /nowhere']), { exit: 1, err: /INVALID_BODY/ })
})

t.test('a user who gets a role at the same moment keeps it', async (test) => {
  const { run, call } = await fixture(test)
  await run(ADD, PASSWORDS)
  const role = async () => (await call('GET', '/rbac/roles?name=Monitoring')).json.data[0]
  const [jane] = (await call('GET', '/localUsers/users?name=jane@test')).json.data
  const relay = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '', headers } = request
    let raw = ''
    for await (const piece of request) raw += String(piece)
    const path = url.replace('/api/v1', '')
    // Another client edits between the read and the write.
    if (method === 'PUT') await call('PUT', path, { body: { users: [jane.id] } })
    const answer = await call(method, path, { raw, headers: { 'if-match': headers['if-match'] ?? '' } })
    response.writeHead(answer.status, answer.headers).end(answer.text)
  }
  const port = await httpServer(test, (request, response) => void relay(request, response))
  const env = { FULCRUM_URL: `http://127.0.0.1:${port}` }
  const given = await run('role give Monitoring --user admin@localhost', { env })
  test.match(given, { exit: 1, out: '', err: /has changed since you read it.*\(REVISION_MISMATCH\)/ })
  test.same((await role()).users, [jane.id])
  await call('PUT', '/services/apply')
  test.match(await run('role give Monitoring --user admin@localhost'), { exit: 0 })
  test.match(await role(), { users: { length: 2 } })
})

t.test('changes staged by others stay pending', async (test) => {
  const { run, call } = await fixture(test)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web1', ip: '192.0.2.1', port: 80 } })
  test.match(await run(ADD, PASSWORDS), { exit: 0 })
  test.match((await run('pending')).out, /\+ realServers web1/)
})
