import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { writePrivately } from '../../../src/cli/private-file.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { noSmallDisk, smallDisk } from '../../fixtures/small-disk.ts'

t.test('whatever was there, the file is for its owner only', (test) => {
  const folder = temporaryFolder(test, 'private')
  const path = join(folder, 'plan.json')
  writeFileSync(path, 'before', { mode: 0o644 })
  writePrivately(path, 'secret')
  test.same(
    [readFileSync(path, 'utf8'), statSync(path).mode & 0o777, readdirSync(folder)],
    ['secret', 0o600, ['plan.json']],
  )
  test.throws(() => writePrivately(join(folder, 'no', 'x'), ''), { message: /cannot be written/ })
  test.end()
})

t.test('anything but a file is left alone', async (test) => {
  const folder = temporaryFolder(test, 'private')
  const [link, file, pipe] = [join(folder, 'link'), join(folder, 'file'), join(folder, 'pipe')]
  writeFileSync(file, 'before')
  symlinkSync('file', link)
  writePrivately(link, 'secret')
  test.ok(lstatSync(link).isSymbolicLink())
  test.same([readFileSync(file, 'utf8'), statSync(file).mode & 0o777], ['secret', 0o600])
  execFileSync('mkfifo', [pipe])
  const reader = spawn('cat', [pipe])
  test.teardown(() => reader.kill())
  writePrivately(pipe, 'secret')
  if (test.ok(statSync(pipe).isFIFO())) test.equal(String((await once(reader.stdout, 'data'))[0]), 'secret')
  test.same(readdirSync(folder), ['file', 'link', 'pipe'])
})

t.test('a failed write leaves nothing behind', (test) => {
  const folder = temporaryFolder(test, 'private')
  mkdirSync(join(folder, 'backups'))
  test.throws(() => writePrivately(join(folder, 'backups'), 'secret'), { message: /cannot be written: EISDIR/ })
  test.same(readdirSync(folder), ['backups'])
  test.end()
})

t.test('a full disk keeps no part of it', { skip: noSmallDisk }, (test) => {
  const folder = smallDisk(test, 1)
  writeFileSync(join(folder, 'plan.json'), 'before')
  const text = 'secret'.repeat(500_000)
  test.throws(() => writePrivately(join(folder, 'plan.json'), text), { message: /cannot be written: ENOSPC/ })
  test.same([readdirSync(folder), readFileSync(join(folder, 'plan.json'), 'utf8')], [['plan.json'], 'before'])
  test.end()
})
