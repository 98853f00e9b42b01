import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { KeyValueFile, KeyValueMemory } from '../../../workers/host/key-value-file.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('values are stored, deleted, and visible to a later reader', async (test) => {
  const path = join(temporaryFolder(test, 'values'), 'new', 'values.json')
  for (const values of [new KeyValueFile(path), new KeyValueMemory()]) {
    test.equal(await values.get('a'), undefined)
    await values.set('a', '1')
    await values.set('b', 'x "y"\n')
    test.equal(await values.get('b'), 'x "y"\n')
    await values.set('a', undefined)
    test.equal(await values.get('a'), undefined)
  }
  test.equal(await new KeyValueFile(path).get('b'), 'x "y"\n')
  test.equal(statSync(path).mode & 0o777, 0o600, 'for no other user')
  test.match(readFileSync(path, 'utf8'), /\n$/)
})

t.test('a value that is set and removed leaves the same bytes, or no file', async (test) => {
  const path = join(temporaryFolder(test, 'values'), 'values.json')
  const values = new KeyValueFile(path)
  await values.set('b', '1')
  await values.set('b', undefined)
  test.notOk(existsSync(path))
  await values.set('c', '1')
  await values.set('b', '2')
  const before = readFileSync(path, 'utf8')
  await values.set('b', undefined)
  await values.set('a', '3')
  await values.set('b', '2')
  await values.set('a', undefined)
  test.equal(readFileSync(path, 'utf8'), before)
})
