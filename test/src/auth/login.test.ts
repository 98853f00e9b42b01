import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { FirstPassword } from '../../../src/auth/first-password.ts'
import { FAILURES_MAX, Lockout, WINDOW_MS } from '../../../src/auth/lockout.ts'
import { PasswordLogin } from '../../../src/auth/login.ts'
import { Passwords } from '../../../src/auth/password.ts'
import { Sessions } from '../../../src/auth/sessions.ts'
import { Tokens } from '../../../src/auth/token.ts'
import { configView } from '../../../src/config/views.ts'
import { configFixture, refuses, temporaryFolder, user } from '../../config-fixture.ts'
import { silentLog } from '../../../src/log.ts'
import { manualClock } from '../../manual-clock.ts'

const PASSWORD = 'correct horse'

async function fixture(test: Test) {
  const { store, edit, promote } = configFixture(test)
  const passwords = new Passwords()
  // Tokens carry real time, so the manual clock starts now.
  const clock = manualClock(Date.now())
  const folder = temporaryFolder(test, 'login')
  const sessions = new Sessions(store.sessions, new Tokens(join(folder, 'key.pem')), clock)
  const first = new FirstPassword(folder)
  const running = configView(store.running)
  const access = new PasswordLogin(running, passwords, sessions, new Lockout(clock), first, silentLog)
  const passwordHash = await passwords.hash(PASSWORD)
  await edit((draft) => {
    const users = draft.section('users')
    users.create(user('u', { email: 'Jane.Doe@Example.test', firstName: 'Jane', lastName: 'Doe', passwordHash }))
    users.create(user('off', { email: 'off@example.test', disabled: true, passwordHash }))
    users.create(user('mono', { email: 'mono@example.test', firstName: '', lastName: 'Mono', passwordHash }))
  })
  await promote()
  const login = (email: string, password = PASSWORD, address = '192.0.2.1') => access.login(email, password, address)
  return { store, edit, sessions, clock, first, login }
}

t.test('a login answers who it is, with a token of a session of this address', async (test) => {
  const { login, sessions } = await fixture(test)
  const { user: who, token } = await login('jane.doe@EXAMPLE.test', PASSWORD, '192.0.2.7')
  test.same(who, { id: 'u', email: 'Jane.Doe@Example.test', name: 'Jane Doe' })
  test.match(sessions.authenticate(token), { userId: 'u', address: '192.0.2.7' })
  test.equal((await login('mono@example.test')).user.name, 'Mono')
})

t.test('the file with the first password goes with the first login', async (test) => {
  const { first, login } = await fixture(test)
  await first.keep('made up')
  await refuses(test, 'INVALID_CREDENTIALS', login('jane.doe@example.test', 'wrong'))
  test.ok(existsSync(first.path), 'not with one that is refused')
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

t.test('a user who is staged only cannot log in', async (test) => {
  const { login, edit } = await fixture(test)
  await edit((draft) => draft.section('users').merge('u', { email: 'new@example.test' }))
  await refuses(test, 'INVALID_CREDENTIALS', login('new@example.test'))
  test.equal((await login('jane.doe@example.test')).user.id, 'u')
})

t.test(
  'failures lock the account for the address that made them, known or not, until the window is over',
  async (test) => {
    const { login, clock } = await fixture(test)
    for (const email of ['jane.doe@example.test', 'nobody@example.test']) {
      for (let i = 0; i < FAILURES_MAX; i += 1) await refuses(test, 'INVALID_CREDENTIALS', login(email, 'wrong'))
      const error = await refuses(test, 'RATE_LIMITED', login(email.toUpperCase()))
      test.same(error.details.headers, { 'Retry-After': String(WINDOW_MS / 1000) })
    }
    test.equal((await login('jane.doe@example.test', PASSWORD, '192.0.2.2')).user.id, 'u', 'another address')
    clock.advance(WINDOW_MS)
    test.equal((await login('jane.doe@example.test')).user.id, 'u')
  },
)

t.test(
  'a login that succeeds forgets the failures before it; a disabled user’s right password is none',
  async (test) => {
    const { login } = await fixture(test)
    for (const _ of [1, 2]) {
      for (let i = 1; i < FAILURES_MAX; i += 1) {
        await refuses(test, 'INVALID_CREDENTIALS', login('jane.doe@example.test', 'wrong'))
      }
      test.equal((await login('jane.doe@example.test')).user.id, 'u')
    }
    for (let i = 0; i <= FAILURES_MAX; i += 1) await refuses(test, 'USER_DISABLED', login('off@example.test'))
  },
)
