import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { lockState } from '../../../src/daemon/state-lock.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const SOURCE = fileURLToPath(new URL('../../../src/daemon/state-lock.ts', import.meta.url))
const LOCKS = `const { lockState } = await import(${JSON.stringify(SOURCE)}); lockState(process.argv[1]); console.log('locked'); setInterval(() => {}, 1000)`
const node = (folder: string) => ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', LOCKS, folder]
const isRoot = process.getuid?.() === 0

t.test('a second daemon on one state folder is refused, by any of its names', (test) => {
  const folder = join(temporaryFolder(test, 'lock'), 'state')
  const lock = lockState(folder)
  test.throws(() => lockState(folder), /another daemon is using it/)
  test.throws(() => lockState(join(folder, '..', 'state')), /another daemon/)
  test.equal(statSync(join(folder, 'lock')).size, 0, 'nothing is written: the disk may be full')
  test.same(readdirSync(folder), ['lock'], 'no journal either')
  lock.release()
  lockState(folder).release()
  test.end()
})

t.test('another process is refused, and admitted when the first was killed', async (test) => {
  const folder = join(temporaryFolder(test, 'lock'), 'state')
  const first = spawn(process.execPath, node(folder), { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(first.stdout, 'data')
  test.throws(() => lockState(folder), /another daemon is using it/)
  first.kill('SIGKILL')
  await once(first, 'exit')
  lockState(folder).release()
})

t.test('another network namespace makes no other folder', { skip: isRoot ? false : 'needs root' }, (test) => {
  const folder = join(temporaryFolder(test, 'lock'), 'state')
  const lock = lockState(folder)
  const other = spawnSync('unshare', ['--net', process.execPath, ...node(folder)], {
    encoding: 'utf8',
    timeout: 20_000,
  })
  test.match(other.stderr, /another daemon is using it/)
  test.notMatch(other.stdout, /locked/)
  lock.release()
  test.end()
})

t.test('a failed lock is reported with its reason', (test) => {
  const folder = temporaryFolder(test, 'lock')
  writeFileSync(join(folder, 'file'), '')
  test.throws(() => lockState(join(folder, 'file')), /EEXIST|ENOTDIR/)
  writeFileSync(join(folder, 'lock'), 'x'.repeat(4096))
  test.throws(() => lockState(folder), /cannot be locked: .*not a database/)
  test.end()
})
