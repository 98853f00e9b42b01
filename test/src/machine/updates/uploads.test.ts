import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { uploadedFiles, uploadsFolder } from '../../../../src/machine/updates/uploads.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'

t.test('complete uploads only', async (test) => {
  const state = temporaryFolder(test, 'uploads')
  test.same(uploadedFiles(state), [])
  const folder = uploadsFolder(state)
  mkdirSync(folder)
  for (const name of ['b_1_all.deb', 'a_1_all.deb', '.half.deb', 'notes.txt']) writeFileSync(join(folder, name), '')
  test.same(uploadedFiles(state), [join(folder, 'a_1_all.deb'), join(folder, 'b_1_all.deb')])
})
