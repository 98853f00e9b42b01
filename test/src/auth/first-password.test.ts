import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { FirstPassword } from '../../../src/auth/first-password.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('is a file for its owner alone, and is forgotten', async (test) => {
  const kept = new FirstPassword(temporaryFolder(test, 'first-password'))
  await kept.keep('first')
  test.equal(readFileSync(kept.path, 'utf8'), 'first\n')
  test.equal(statSync(kept.path).mode & 0o777, 0o600)
  await kept.keep('second')
  test.equal(readFileSync(kept.path, 'utf8'), 'second\n', 'of the last start that generated one')
  await kept.forget()
  test.notOk(existsSync(kept.path))
  await test.resolves(kept.forget(), 'nothing to forget')
})

t.test('is never written through a link', async (test) => {
  const folder = temporaryFolder(test, 'first-password')
  const elsewhere = join(folder, 'elsewhere')
  writeFileSync(elsewhere, 'theirs')
  const kept = new FirstPassword(folder)
  symlinkSync(elsewhere, kept.path)
  await kept.keep('secret')
  test.equal(readFileSync(elsewhere, 'utf8'), 'theirs')
})
