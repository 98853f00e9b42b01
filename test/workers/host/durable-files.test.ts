import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import {
  fileNames,
  readText,
  removeDurably,
  renameDurably,
  replaceFileDurably,
} from '../../../workers/host/durable-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'fulcrum-files-'))
t.teardown(() => rmSync(folder, { recursive: true }))

t.test('a file is replaced as a whole, with its mode', async (t) => {
  const path = join(folder, 'a', 'b')
  await replaceFileDurably(path, 'one', 0o666)
  t.equal(statSync(path).mode & 0o777, 0o666, 'whatever the umask')
  const { ino } = statSync(path)
  await replaceFileDurably(path, 'two', 0o600)
  t.not(statSync(path).ino, ino, 'another file under the same name')
  t.equal(await readText(path), 'two')
  t.strictSame(readdirSync(join(folder, 'a')), ['b'])
})

t.test('remains of a crash are no obstacle', async (t) => {
  writeFileSync(join(folder, 'c.new'), 'half')
  await replaceFileDurably(join(folder, 'c'), 'whole', 0o600)
  t.equal(await readText(join(folder, 'c')), 'whole')
  t.equal(await readText(join(folder, 'c.new')), undefined)
})

t.test('remains of a crash are deleted also where the file is as wanted', async (t) => {
  writeFileSync(join(folder, 'c.new'), 'a secret')
  await replaceFileDurably(join(folder, 'c'), 'whole', 0o600)
  t.equal(await readText(join(folder, 'c.new')), undefined)
})

t.test('missing is not the same as unreadable', async (t) => {
  t.equal(await readText(join(folder, 'none')), undefined)
  t.equal(await readText(join(folder, 'c', 'below-a-file')), undefined)
  mkdirSync(join(folder, 'directory'))
  await t.rejects(readText(join(folder, 'directory')), { code: 'EISDIR' })
  await removeDurably(join(folder, 'none'))
  await t.rejects(removeDurably(join(folder, 'directory')))
})

t.test('a failed write leaves the old file', async (t) => {
  const path = join(folder, 'kept')
  await replaceFileDurably(path, 'old', 0o600)
  mkdirSync(`${path}.new`)
  chmodSync(`${path}.new`, 0o700)
  await t.rejects(replaceFileDurably(path, 'new', 0o600))
  t.equal(await readText(path), 'old')
})

t.test('a failed write leaves no half file behind', async (t) => {
  const path = join(folder, 'full')
  mkdirSync(path)
  await t.rejects(replaceFileDurably(path, 'new', 0o600), { code: 'EISDIR' })
  t.notOk(existsSync(`${path}.new`))
})

t.test('a rename moves', async (t) => {
  await replaceFileDurably(join(folder, 'from'), 'x', 0o600)
  await renameDurably(join(folder, 'from'), join(folder, 'to'))
  t.equal(await readText(join(folder, 'to')), 'x')
  t.equal(await readText(join(folder, 'from')), undefined)
})

t.test('the files of a folder are listed, and none for a missing one', async (t) => {
  mkdirSync(join(folder, 'list', 'below'), { recursive: true })
  for (const name of ['b', 'a']) writeFileSync(join(folder, 'list', name), name)
  t.strictSame(await fileNames(join(folder, 'list')), ['a', 'b'])
  t.strictSame(await fileNames(join(folder, 'none')), [])
})

t.test('a new folder is for its owner, unless its content is executable for every user', async (t) => {
  const place = join(folder, 'made')
  const modeOf = (name: string) => statSync(join(place, name)).mode & 0o777
  await replaceFileDurably(join(place, 'keys', 'a'), 'x', 0o600)
  await replaceFileDurably(join(place, 'texts', 'a'), 'x', 0o644)
  await replaceFileDurably(join(place, 'programs', 'a'), 'x', 0o755)
  t.strictSame(['keys', 'texts', 'programs'].map(modeOf), [0o700, 0o700, 0o755])
  chmodSync(join(place, 'keys'), 0o711)
  await replaceFileDurably(join(place, 'keys', 'b'), 'x', 0o755)
  t.equal(modeOf('keys'), 0o711, 'an existing one is left as it is')
})
