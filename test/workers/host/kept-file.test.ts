import { chownSync, lstatSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { replaceFileDurably } from '../../../workers/host/durable-files.ts'
import { keepFile } from '../../../workers/host/kept-file.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const nobody = (): never => {
  throw new Error('it is of whoever it was')
}

t.test('bytes that are no text, and the mode of a program, are restored', async (test) => {
  const path = join(temporaryFolder(test), 'program')
  const bytes = Buffer.from('sysLocation Z\xfcrich\n', 'latin1')
  await replaceFileDurably(path, bytes, 0o755)
  const putBack = await keepFile(path, nobody)
  for (const change of [() => replaceFileDurably(path, 'other', 0o600), async () => rmSync(path)]) {
    await change()
    await putBack()
    test.ok(readFileSync(path).equals(bytes))
    test.equal(lstatSync(path).mode & 0o7777, 0o755)
  }
})

t.test('a link is restored as a link, and its target is left alone', async (test) => {
  const folder = temporaryFolder(test)
  const [path, target] = [join(folder, 'chrony.conf'), join(folder, 'elsewhere')]
  writeFileSync(target, 'pool a\n')
  symlinkSync('elsewhere', path)
  const putBack = await keepFile(path, nobody)
  await replaceFileDurably(path, 'pool b\n', 0o644)
  await putBack()
  test.equal(readlinkSync(path), 'elsewhere')
  test.equal(readFileSync(target, 'utf8'), 'pool a\n')
})

t.test('a file is given back to its group', { skip: process.getuid?.() !== 0 && 'needs root' }, async (test) => {
  const path = join(temporaryFolder(test), 'snmpd.conf')
  writeFileSync(path, 'one')
  chownSync(path, 0, 65_534)
  const given: unknown[] = []
  const putBack = await keepFile(path, async (...to) => void given.push(to))
  await putBack()
  test.same(given, [], 'nothing has changed')
  await replaceFileDurably(path, 'two', 0o640)
  await putBack()
  test.same(given, [['0:65534', path]])
})
