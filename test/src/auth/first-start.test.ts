import t, { type Test } from 'tap'
import { ADMINISTRATOR, DEFAULT_ROLES } from '../../../src/api/access.ts'
import { passwordWasShown, prepareAccess } from '../../../src/auth/first-start.ts'
import { Passwords } from '../../../src/auth/password.ts'
import { checkConfig } from '../../../src/config/check.ts'
import { configView } from '../../../src/config/views.ts'
import { configFixture } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

function fixture(test: Test) {
  const config = configFixture(test)
  const passwords = new Passwords()
  const clock = manualClock()
  const prepare = (email = 'admin@localhost', password?: string) =>
    prepareAccess(config.store, passwords, clock, { email, password })
  const running = configView(config.store.running)
  const users = () => [...running.list('users')]
  return { ...config, passwords, prepare, running, users }
}

t.test('the first administrator can log in with the password that is shown once', async (test) => {
  const { prepare, users, passwords } = fixture(test)
  const first = await prepare()
  const [administrator, ...more] = users()
  test.same(more, [])
  test.match(administrator, { id: first?.id, email: 'admin@localhost', disabled: false, roles: [ADMINISTRATOR.id] })
  test.ok(await passwords.verify(administrator?.passwordHash, first?.oneTimePassword ?? ''))
})

t.test('a given password is used and never shown', async (test) => {
  const { prepare, users, passwords, store } = fixture(test)
  const first = await prepare('root@example.test', 'a given password')
  test.match(first, { email: 'root@example.test', oneTimePassword: undefined })
  test.ok(await passwords.verify(users()[0]?.passwordHash, 'a given password'))
  test.notMatch(JSON.stringify(store.revisions(9)), /a given password/)
})

t.test('a first start is one revision, whole, and nothing is pending', async (test) => {
  const { prepare, store } = fixture(test)
  await prepare()
  test.equal(store.revision, 1)
  test.same(store.changes(), [])
  test.match(store.revisions(9), [{ by: 'system', comment: 'first start', at: '2026-01-02T03:04:05.000Z' }])
  test.equal(store.revisions(9)[0]?.changes.length, DEFAULT_ROLES.length + 1)
  test.same(checkConfig(store), [])
})

t.test('a password that was never shown is replaced, for the same administrator, until it was shown', async (test) => {
  const { prepare, users, passwords, store } = fixture(test)
  const lost = await prepare()
  const shown = await prepare('other@localhost')
  test.match(shown, { id: lost?.id, email: 'admin@localhost' })
  test.not(shown?.oneTimePassword, lost?.oneTimePassword)
  test.notOk(await passwords.verify(users()[0]?.passwordHash, lost?.oneTimePassword ?? ''))
  test.ok(await passwords.verify(users()[0]?.passwordHash, shown?.oneTimePassword ?? ''))
  await passwordWasShown(store)
  test.equal(await prepare(), undefined)
  test.same(checkConfig(store), [])
})

t.test('after a failed first start the settings of the next one count', async (test) => {
  const { prepare, users, passwords, store } = fixture(test)
  const failed = await prepare('admin@localhost', 'a mistyped password')
  const first = await prepare('admin@localhost', 'a given password')
  test.match(first, { id: failed?.id, oneTimePassword: undefined })
  test.ok(await passwords.verify(users()[0]?.passwordHash, 'a given password'))
  await passwordWasShown(store)
  test.equal(await prepare('admin@localhost', 'another password'), undefined)
})

t.test('a later start changes nothing, whatever its settings', async (test) => {
  const { prepare, store, users } = fixture(test)
  await prepare()
  await passwordWasShown(store)
  const before = users()
  test.equal(await prepare('other@localhost', 'another password'), undefined)
  test.equal(store.revision, 1)
  test.same(users(), before)
})

t.test('a start after an upgrade adds missing default roles, and no user', async (test) => {
  const { prepare, edit, promote, running, users, store } = fixture(test)
  await prepare()
  await passwordWasShown(store)
  const lost = DEFAULT_ROLES.find(({ name }) => name === 'Auditor')
  await edit((draft) => draft.section('roles').remove(lost?.id ?? ''))
  await promote()
  test.equal(running.get('roles', lost?.id ?? ''), undefined)
  test.equal(await prepare(), undefined)
  test.same(running.get('roles', lost?.id ?? ''), { id: lost?.id, name: 'Auditor', builtin: true, endpoints: [] })
  test.equal(users().length, 1)
})
