import t from 'tap'
import { chunkLookup, openArchiveDatabases } from '../../../storage/archive/databases.ts'
import { makeKey } from '../../../storage/archive/layout.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('chunks are looked up by tier, end and object', async (t) => {
  const databases = openArchiveDatabases(temporaryFolder(t))
  const chunk = chunkLookup(databases)
  databases.tiers[2]?.putSync(makeKey(600, 4), new Uint8Array([1, 2]))
  t.equal(chunk(2, 600, 4)?.[1], 2)
  t.strictSame(
    [chunk(1, 600, 4), chunk(2, 660, 4), chunk(2, 600, 5), chunk(9, 600, 4)],
    [undefined, undefined, undefined, undefined],
  )
  await databases.environment.close()
})
