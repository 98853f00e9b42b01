import { existsSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { TokenFile } from '../../../src/witness/token-file.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('an unneeded token is deleted after a minute, and one that may be needed stays', (test) => {
  const file = new TokenFile(temporaryFolder(test, 'witness'))
  const hand = () => writeFileSync(file.path, 'fj1.x\n')
  test.equal(file.removeLeft(0, false), false, 'there is none')
  hand()
  test.equal(file.read(), 'fj1.x')
  test.same(
    [0, 59_999].map((now_ms) => file.removeLeft(now_ms, false)),
    [false, false],
  )
  test.equal(file.removeLeft(60_000, true), false, 'it was removed meanwhile, and joins again')
  test.same(
    [60_001, 120_000].map((now_ms) => file.removeLeft(now_ms, false)),
    [false, false],
    'a minute from then on',
  )
  test.ok(existsSync(file.path))
  test.equal(file.removeLeft(120_001, false), true)
  test.notOk(existsSync(file.path))
  hand()
  test.equal(file.removeLeft(120_002, false), false, 'another one has a minute as well')
  test.end()
})
