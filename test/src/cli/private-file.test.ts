import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { writePrivately } from '../../../src/cli/private-file.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('whatever was there, the file is for nobody else', (test) => {
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
