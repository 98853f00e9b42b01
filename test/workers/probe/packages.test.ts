import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runProgram } from '../../../workers/host/linux-host.ts'
import { isRestartRequired, packagesStamp, readPackages, readUpdateGround } from '../../../workers/probe/packages.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('a machine without apt, one where it is broken, one where nothing is pending', async (test) => {
  test.equal(await readPackages(async () => ({ exitCode: 127, output: 'apt-get is not installed' })), undefined)
  const broken = { exitCode: 100, output: 'Reading…\nE: Unmet dependencies' }
  test.same(await readPackages(async () => broken), { pending: [], problem: 'E: Unmet dependencies' })
  test.same(await readPackages(async () => ({ exitCode: 0, output: '' })), { pending: [], problem: undefined })
})

t.test('this machine is read and nothing of it changes', async (test) => {
  const before = packagesStamp()
  const facts = await readPackages(runProgram)
  for (const { name, pendingVersion, architecture } of facts?.pending ?? []) {
    test.ok(
      [name, pendingVersion, architecture].every((text) => text !== ''),
      name,
    )
  }
  const ground = await readUpdateGround(runProgram)
  test.ok(ground.free.some(({ path, bytes }) => path === '/' && bytes > 0))
  test.equal(packagesStamp(), before)
})

t.test('the pending updates are read again after any change to how apt chooses versions', async (test) => {
  const apt = temporaryFolder(test, 'apt')
  for (const folder of ['preferences.d', 'apt.conf.d']) mkdirSync(join(apt, folder))
  const seen = new Set([packagesStamp(apt)])
  const files = ['preferences', 'preferences.d/hold', 'apt.conf', 'apt.conf.d/50release', 'sources.list']
  for (const [at, file] of files.entries()) {
    writeFileSync(join(apt, file), 'one')
    seen.add(packagesStamp(apt))
    // Edited in place, which changes no folder.
    writeFileSync(join(apt, file), 'two')
    utimesSync(join(apt, file), at, at)
    seen.add(packagesStamp(apt))
  }
  test.equal(seen.size, 1 + 2 * files.length)
})

t.test('a restart is required by the flag, a newer kernel, or a library that was replaced', async (test) => {
  const folder = temporaryFolder(test, 'restart')
  const places = {
    flag: join(folder, 'flag'),
    kernels: join(folder, 'boot'),
    maps: join(folder, 'maps'),
    kernel: '6.1.0-9-amd64',
  }
  mkdirSync(places.kernels)
  const maps = (line: string) => writeFileSync(places.maps, `7f00-7f01 r-xp 0 08:01 1 /usr/lib/a.so\n${line}\n`)
  const kernel = (name: string) => writeFileSync(join(places.kernels, `vmlinuz-${name}`), '')
  maps('7f02-7f03 rw-s 0 00:01 2 /dev/zero (deleted)')
  test.notOk(isRestartRequired(places))
  kernel('6.1.0-10-amd64')
  test.notOk(isRestartRequired(places), 'the running kernel is none of these: a container')
  kernel('6.1.0-9-amd64')
  test.ok(isRestartRequired(places))
  test.notOk(isRestartRequired({ ...places, kernel: '6.1.0-10-amd64' }))
  const none = { ...places, kernels: join(folder, 'none') }
  test.notOk(isRestartRequired(none))
  maps('7f02-7f03 r-xp 0 08:01 2 /usr/lib/x86_64-linux-gnu/libssl.so.3 (deleted)')
  test.ok(isRestartRequired(none))
  maps('')
  writeFileSync(places.flag, '')
  test.ok(isRestartRequired(none))
})
