import { join } from 'node:path'
import t from 'tap'
import { configDamage, repairState } from '../../../src/daemon/repair.ts'
import { ConfigTables } from '../../../storage/config/tables.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('a whole state folder has no damage and nothing is done about it', async (test) => {
  const state = temporaryFolder(test, 'state')
  const tables = new ConfigTables(join(state, 'config'))
  await tables.commit([tables.meta.put('revision', 1)])
  await tables.close()
  test.same(await configDamage(state), [])
  test.same(await repairState(state), [])
})
