import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SettingsError } from '../../../src/settings.ts'
import { createMachine } from '../../../src/machine/machine.ts'
import { configView } from '../../../src/config/views.ts'
import { testSettings } from '../../fixtures/appliance.ts'
import { configFixture } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('in trial everything is in the state folder, closed to others, and packages stay as they are', async (test) => {
  const state = temporaryFolder(test, 'm')
  const machine = createMachine(testSettings(state))
  test.teardown(() => machine.close())
  test.equal(machine.touchesPackages, false)
  test.equal(machine.masterSocket, join(state, 'haproxy', 'master.sock'))
  test.equal(statSync(join(state, 'haproxy')).mode & 0o777, 0o700)
  const files = machine
    .drivers('node', () => [])
    .flatMap((driver) => driver.render(configView(configFixture(test).store.running)))
  test.ok(files.length > 0)
  for (const { path } of files) test.ok(path.startsWith(`${state}/`), path)
})

t.test("an appliance uses Debian's service and creates nothing", async (test) => {
  const state = temporaryFolder(test, 'm')
  const machine = createMachine(testSettings(state, { profile: 'appliance' }))
  test.teardown(() => machine.close())
  test.equal(machine.touchesPackages, true)
  test.equal(machine.masterSocket, '/run/haproxy-master.sock')
  test.notOk(existsSync(join(state, 'haproxy')))
  const files = machine
    .drivers('node', () => [])
    .flatMap((driver) => driver.render(configView(configFixture(test).store.running)))
  test.match(files, [{ path: '/etc/haproxy/haproxy.cfg' }])
  await machine.stopSupervised()
  test.pass('a stop of the daemon leaves the service alone')
})

t.test('an observer renders nothing and carries nothing out', async (test) => {
  const state = temporaryFolder(test, 'm')
  const machine = createMachine(testSettings(state, { observe: { path: '/s' } }))
  test.same([machine.drivers('node', () => []), machine.masterSocket, machine.touchesPackages], [[], undefined, false])
  test.notOk(existsSync(join(state, 'haproxy')))
  test.match(await machine.executor.execute([]), { ok: true, done: 0, recorded: 0, warnings: [] })
  const step = { kind: 'removeFile', path: join(state, 'x'), why: 'x', timeout_ms: 1 } as const
  await test.rejects(machine.executor.execute([step]))
  await machine.stopSupervised()
  await machine.close()
})

t.test('a state folder with too long names of sockets is refused with the maximum length', async (test) => {
  const base = temporaryFolder(test, 'm')
  const long = join(base, 'x'.repeat(100))
  let spare = 0
  try {
    createMachine(testSettings(long))
    test.fail('it was accepted')
  } catch (error) {
    test.ok(error instanceof SettingsError)
    spare = Number(/at most (\d+) characters/.exec(String(error))?.[1])
  }
  test.notOk(existsSync(long), 'nothing was created')
  const longest = long.slice(0, spare)
  const machine = createMachine(testSettings(longest))
  test.teardown(() => machine.close())
  test.ok(existsSync(join(longest, 'haproxy')), 'the maximum length is accepted')
  test.throws(() => createMachine(testSettings(long.slice(0, spare + 1))), { message: /too long/ })
})

t.test('plans are carried out by the host of the profile', async (test) => {
  const state = temporaryFolder(test, 'm')
  const machine = createMachine(testSettings(state))
  test.teardown(() => machine.close())
  const path = join(state, 'haproxy', 'file')
  const common = { why: 'write a file', timeout_ms: 10_000 }
  const write = { kind: 'replaceFile', path, content: 'x', mode: 0o600, checked: false, ...common } as const
  test.match(await machine.executor.execute([write]), { ok: true, done: 1, recorded: 0, warnings: [] })
  test.equal(statSync(path).mode & 0o777, 0o600)
  test.match(await machine.executor.check([{ ...write, path: `${path}2` }]), { ok: true })
  test.notOk(existsSync(`${path}2`), 'a check only checks')
  await machine.stopSupervised()
  test.pass('there is nothing to stop')
})
