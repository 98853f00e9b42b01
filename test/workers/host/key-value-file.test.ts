import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { KeyValueFile, KeyValueMemory } from '../../../workers/host/key-value-file.ts'
import { temporaryFolder } from '../../config-fixture.ts'

t.test('values are kept, forgotten, and seen by who opens the file later', async (test) => {
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
  test.equal(statSync(path).mode & 0o777, 0o600, 'for nobody else')
  test.match(readFileSync(path, 'utf8'), /\n$/)
})
