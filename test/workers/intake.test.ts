import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { intakePool } from '../../src/threads/worker-pool.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { packed } from '../system/apt-repository.ts'

t.test('a package is checked and stored in a separate thread', async (t) => {
  const work = temporaryFolder(t, 'intake')
  const folder = join(work, 'kept')
  const pool = intakePool()
  t.teardown(() => pool.close())
  const text = readFileSync(await packed(work, { name: 'one', version: '1' })).toString('base64')
  t.same(await pool.run('keepPackage', { text, folder, files_max: 1 }), { name: 'one', version: '1', arch: 'all' })
  t.same(readdirSync(folder), ['one_1_all.deb'])
  t.match(await pool.run('keepPackage', { text: '', folder, files_max: 1 }), { problem: /not a Debian package/ })
})
