import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { configDamage, repairState } from '../../../src/daemon/repair.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { ConfigTables } from '../../../storage/config/tables.ts'
import { writeSeconds } from '../../storage/temporary-archive.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('a whole state folder has no damage and is not changed', async (test) => {
  const state = temporaryFolder(test, 'state')
  const tables = new ConfigTables(join(state, 'config'))
  await tables.commit([tables.meta.put('revision', 1)])
  await tables.close()
  test.same(await configDamage(state), [])
  test.same(await repairState(state), [])
})

t.test('an archive with broken pages is named, and nothing is written to it', async (test) => {
  const state = temporaryFolder(test, 'state')
  await new ConfigTables(join(state, 'config')).close()
  const writer = new ArchiveWriter(join(state, 'archive'), 1_700_000_000)
  writeSeconds(writer, 'fe', 400, (metric, second) => metric * second)
  await writer.close()
  const file = join(state, 'archive', 'data.mdb')
  const bytes = readFileSync(file)
  const [PAGE, IS_LEAF, HAS_DUPLICATES] = [4_096, 2, 4]
  for (let page = 2 * PAGE; page < bytes.length; page += PAGE) {
    if ((bytes.readUInt16LE(page + 18) & IS_LEAF) === 0) continue
    const node = page + 24 + bytes.readUInt16LE(page + 24)
    if (node + 4 < page + PAGE) bytes[node + 4] = (bytes[node + 4] ?? 0) | HAS_DUPLICATES
  }
  writeFileSync(file, bytes)
  await test.rejects(repairState(state), /archive\/data.mdb is damaged \(page \d+ .*Recovery/)
  test.ok(readFileSync(file).equals(bytes))
})
