import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { FirstPassword } from '../../../src/auth/first-password.ts'
import { FAILURES_MAX, Lockout, WINDOW_MS } from '../../../src/auth/lockout.ts'
import { type Amend, Login } from '../../../src/auth/login.ts'
import type { Verdict } from '../../../src/auth/external-login.ts'
import { Passwords } from '../../../src/auth/password.ts'
import { newRecoveryCodes, recoveryHash } from '../../../src/auth/recovery-codes.ts'
import { SecondFactors } from '../../../src/auth/second-factors.ts'
import { hotp, newSecret } from '../../../src/auth/totp.ts'
import { Principals } from '../../../src/auth/principals.ts'
import { Sessions } from '../../../src/auth/sessions.ts'
import { Tokens } from '../../../src/auth/token.ts'
import { configView } from '../../../src/config/views.ts'
import { configFixture, refuses, user } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { silentLog } from '../../../src/base/log.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { amendIn } from '../../fixtures/entries.ts'

const PASSWORD = 'correct horse'

async function fixture(test: Test) {
  const { store, edit, promote } = configFixture(test)
  const passwords = new Passwords()
  // Tokens carry real time, so the manual clock starts now.
  const clock = manualClock(Date.now())
  const folder = temporaryFolder(test, 'login')
  const sessions = new Sessions(store.sessions, store.owed, new Tokens(join(folder, 'key.pem')), clock)
  const first = new FirstPassword(folder)
  const running = configView(store.running)
  const verdict: { is: Verdict } = { is: { outcome: 'off' } }
  const amend: Amend = (section, id, change) =>
    amendIn(store, { section, scope: '', key: id }, change(running.get(section, id)))
  const factors = new SecondFactors(store.signIns, store.owed, clock)
  const principals = new Principals(running, (userId) => sessions.introductionOf(userId))
  const access = new Login({
    running,
    principals,
    passwords,
    sessions,
    factors,
    amend,
    clock,
    lockout: new Lockout(clock),
    external: { authenticate: async () => verdict.is },
    firstPassword: first,
    log: silentLog,
  })
  const passwordHash = await passwords.hash(PASSWORD)
  await edit((draft) => {
    const users = draft.section('users')
    users.create(user('u', { email: 'Jane.Doe@Example.test', firstName: 'Jane', lastName: 'Doe', passwordHash }))
    users.create(user('off', { email: 'off@example.test', disabled: true, passwordHash }))
    users.create(user('mono', { email: 'mono@example.test', firstName: '', lastName: 'Mono', passwordHash }))
  })
  await promote()
  const login = (email: string, password = PASSWORD, address = '192.0.2.1', code?: string) =>
    access.login({ email, password, code }, address)
  return { store, edit, promote, sessions, clock, first, login, access, verdict, running }
}

t.test('a login returns the user, with a token of a session of this address', async (test) => {
  const { login, sessions } = await fixture(test)
  const { user: who, token } = await login('jane.doe@EXAMPLE.test', PASSWORD, '192.0.2.7')
  test.same(who, { id: 'u', email: 'Jane.Doe@Example.test', name: 'Jane Doe' })
  test.match(sessions.authenticate(token), { userId: 'u', address: '192.0.2.7' })
  test.equal((await login('mono@example.test')).user.name, 'Mono')
})

t.test('the file with the first password is deleted by the first login', async (test) => {
  const { first, login } = await fixture(test)
  await first.keep('made up')
  await refuses(test, 'INVALID_CREDENTIALS', login('jane.doe@example.test', 'wrong'))
  test.ok(existsSync(first.path), 'not by a refused one')
  await login('jane.doe@example.test')
  test.notOk(existsSync(first.path))
})

t.test('unknown e-mail and wrong password are one refusal, and open no session', async (test) => {
  const { login, store } = await fixture(test)
  const wrong = await refuses(test, 'INVALID_CREDENTIALS', login('jane.doe@example.test', 'wrong'))
  const unknown = await refuses(test, 'INVALID_CREDENTIALS', login('nobody@example.test'))
  test.equal(unknown.message, wrong.message)
  test.same(unknown.details, wrong.details)
  test.same(store.sessions.entries(), [])
})

t.test('a disabled user is told so only with the right password', async (test) => {
  const { login, store } = await fixture(test)
  await refuses(test, 'INVALID_CREDENTIALS', login('off@example.test', 'wrong'))
  await refuses(test, 'USER_DISABLED', login('off@example.test'))
  test.same(store.sessions.entries(), [])
})

t.test('a user who is only staged cannot log in', async (test) => {
  const { login, edit } = await fixture(test)
  await edit((draft) => draft.section('users').merge('u', { email: 'new@example.test' }))
  await refuses(test, 'INVALID_CREDENTIALS', login('new@example.test'))
  test.equal((await login('jane.doe@example.test')).user.id, 'u')
})

t.test('failures lock the account for their address, known or not, until the window is over', async (test) => {
  const { login, clock } = await fixture(test)
  for (const email of ['jane.doe@example.test', 'nobody@example.test']) {
    for (let i = 0; i < FAILURES_MAX; i += 1) await refuses(test, 'INVALID_CREDENTIALS', login(email, 'wrong'))
    const error = await refuses(test, 'RATE_LIMITED', login(email.toUpperCase()))
    test.same(error.details.headers, { 'Retry-After': String(WINDOW_MS / 1000) })
  }
  test.equal((await login('jane.doe@example.test', PASSWORD, '192.0.2.2')).user.id, 'u', 'another address')
  clock.advance(WINDOW_MS)
  test.equal((await login('jane.doe@example.test')).user.id, 'u')
})

t.test('a successful login clears earlier failures; a disabled user’s right password is no failure', async (test) => {
  const { login } = await fixture(test)
  for (const _ of [1, 2]) {
    for (let i = 1; i < FAILURES_MAX; i += 1) {
      await refuses(test, 'INVALID_CREDENTIALS', login('jane.doe@example.test', 'wrong'))
    }
    test.equal((await login('jane.doe@example.test')).user.id, 'u')
  }
  for (let i = 0; i <= FAILURES_MAX; i += 1) await refuses(test, 'USER_DISABLED', login('off@example.test'))
})

const RADIUS = {
  id: 'cluster',
  enabled: true,
  port: 1812,
  authProtocol: 'PAP' as const,
  sharedSecret: 'secret',
  timeout: 5,
  retries: 0,
  nasIdentifier: '',
  requireMessageAuthenticator: true,
  hosts: [],
  groupAttribute: 'Class',
  groupMappings: [],
  denyUnmapped: false,
}

const byText = (a: string, b: string) => a.localeCompare(b)

async function enrolled(test: Test) {
  const parts = await fixture(test)
  const secret = newSecret()
  const codes = newRecoveryCodes()
  const secondFactor = { secret, recoveryCodes: codes.map(recoveryHash), since: '2026-01-02T03:04:05.000Z' }
  await parts.edit((draft) => draft.section('users').merge('u', { secondFactor }))
  await parts.promote()
  const code = () => hotp(secret, Math.floor(parts.clock.now_ms() / 30_000))
  const enter = (sent?: string, address?: string) => parts.login('jane.doe@example.test', PASSWORD, address, sent)
  return { ...parts, codes, code, enter }
}

t.test('the second factor is requested when the password is right, and only then', async (test) => {
  const { login, enter, code, codes } = await enrolled(test)
  await refuses(test, 'TWO_FACTOR_REQUIRED', enter())
  await refuses(test, 'TWO_FACTOR_REQUIRED', enter(''))
  await refuses(test, 'INVALID_CREDENTIALS', login('jane.doe@example.test', 'wrong', '192.0.2.1', code()))
  await refuses(test, 'TWO_FACTOR_INVALID', enter('000000'))
  test.ok((await enter(code())).token)
  await refuses(test, 'TWO_FACTOR_INVALID', enter(code()))
  test.ok((await enter(codes[0])).token)
  await refuses(test, 'TWO_FACTOR_INVALID', enter(codes[0]))
})

t.test('codes cannot be guessed from many addresses', async (test) => {
  const { enter, code, clock } = await enrolled(test)
  for (let n = 0; n < FAILURES_MAX; n += 1) await refuses(test, 'TWO_FACTOR_INVALID', enter('000000', `192.0.2.${n}`))
  await refuses(test, 'RATE_LIMITED', enter(code(), '192.0.2.99'))
  clock.advance(WINDOW_MS)
  test.ok((await enter(code(), '192.0.2.99')).token)
})

t.test('where a second factor is required, a session without one is limited', async (test) => {
  const { login, edit, promote, sessions } = await fixture(test)
  test.notOk((await login('mono@example.test')).mustEnrol)
  await edit((draft) => draft.section('loginPolicies').put({ id: 'cluster', twoFactorRequired: true }))
  await promote()
  const { token, mustEnrol } = await login('mono@example.test')
  test.ok(mustEnrol)
  test.match(sessions.authenticate(token), { isLimited: true })
})

t.test('an unknown user is admitted by another server, and created once', async (test) => {
  const { login, verdict, sessions, running, edit, promote } = await fixture(test)
  await edit((draft) => draft.section('radiusConfigs').put(RADIUS))
  await promote()
  verdict.is = { outcome: 'accepted', groups: ['b', 'a'] }
  const logins = await Promise.all([login('alice'), login('Alice')])
  const users = [...running.list('radiusUsers')]
  test.equal(users.length, 1)
  test.match(users, [{ username: /^alice$/i, groups: ['a', 'b'], disabled: false }])
  test.match(sessions.authenticate(logins[0]?.token ?? ''), { userId: users[0]?.id, via: 'radius' })
  verdict.is = { outcome: 'accepted', groups: ['c'] }
  await login('alice')
  test.match([...running.list('radiusUsers')], [{ groups: ['c'] }])
  await edit((draft) => draft.section('radiusUsers').merge(users[0]?.id ?? '', { disabled: true }))
  await promote()
  await refuses(test, 'USER_DISABLED', login('alice'))
  for (const alias of ['CORP\\alice', 'alice@corp.example']) await refuses(test, 'USER_DISABLED', login(alias))
  test.equal([...running.list('radiusUsers')].length, 1, 'and no alias is created')
  verdict.is = { outcome: 'accepted', groups: [], name: 'bob' }
  test.equal((await login('CORP\\bob')).user.name, 'bob', 'as the server names him')
  verdict.is = { outcome: 'accepted', groups: [], name: 'jane.doe@example.test' }
  await refuses(test, 'INVALID_CREDENTIALS', login('mallory'))
  verdict.is = { outcome: 'accepted', groups: [] }
  await refuses(test, 'INVALID_CREDENTIALS', login('CORP\\off'))
  const ids = () => [...running.list('radiusUsers')].map(({ id }) => id)
  const before = ids()
  await edit((draft) => draft.section('radiusUsers').remove(users[0]?.id ?? ''))
  await promote()
  await login('alice')
  test.same(ids().toSorted(byText), before.toSorted(byText), 'a returning user is the same')
  verdict.is = { outcome: 'refused' }
  await refuses(test, 'INVALID_CREDENTIALS', login('alice'))
})

t.test('a server without an answer is no failure, and keeps no local user out', async (test) => {
  const { login, verdict } = await fixture(test)
  verdict.is = { outcome: 'unreachable' }
  for (let n = 0; n < FAILURES_MAX + 2; n += 1) await refuses(test, 'INVALID_CREDENTIALS', login('alice'))
  test.ok((await login('jane.doe@example.test')).token)
  verdict.is = { outcome: 'accepted', groups: [] }
  await refuses(test, 'INVALID_CREDENTIALS', login('jane.doe@example.test', 'wrong'))
})

t.test('with enforced single sign-on a password only works for a break-glass user', async (test) => {
  const { login, edit, promote, access, verdict } = await fixture(test)
  const idp = { idpEntityId: 'idp', idpSsoUrl: 'https://idp.test/sso', idpCertificates: [], baseUrl: 'https://lb.test' }
  await edit((draft) =>
    draft.section('samlConfigs').put({
      ...idp,
      id: 'cluster',
      enabled: true,
      enforced: true,
      emailAttribute: '',
      breakGlassUserId: 'mono',
    }),
  )
  await promote()
  await refuses(test, 'SSO_ENFORCED', login('jane.doe@example.test'))
  await refuses(test, 'INVALID_CREDENTIALS', login('jane.doe@example.test', 'wrong'))
  test.ok((await login('mono@example.test')).token)
  verdict.is = { outcome: 'accepted', groups: [] }
  await refuses(test, 'SSO_ENFORCED', login('alice'))
  test.match(await access.admitted('jane.doe@example.test', 'saml', '192.0.2.1'), {
    user: { id: 'u' },
    mustEnrol: false,
  })
  await refuses(test, 'USER_DISABLED', access.admitted('off@example.test', 'saml', '192.0.2.1'))
  await refuses(test, 'INVALID_CREDENTIALS', access.admitted('nobody@example.test', 'saml', '192.0.2.1'))
})
