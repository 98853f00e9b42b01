import t from 'tap'
import { keyFirst } from '../../../storage/archive/layout.ts'
import { relieve, trimTier } from '../../../storage/archive/trim.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { TRIM_GRACE_S } from '../../../storage/limits.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { writeSeconds } from '../temporary-archive.ts'

const S = 1_700_000_000

t.test('only what lies wholly before the retention goes, a bounded number at a time', async (t) => {
  const writer = new ArchiveWriter(temporaryFolder(t), S)
  writeSeconds(writer, 'fe', 1_000, () => 1)
  const { databases, hwm_s } = writer
  const stored = () => Array.from(databases.tiers[0]?.getKeys() ?? [], keyFirst)
  const ends = stored()
  t.equal(ends.length, 8)
  const trim = (now_s: number, limit: number) =>
    databases.environment.transactionSync(() => trimTier(databases, 0, now_s, limit))
  t.equal(trim(hwm_s, 100), 0)
  t.equal(trim((ends[0] ?? 0) + 7_200 + TRIM_GRACE_S - 1, 2), 0, 'kept a while for who is still reading')
  t.equal(trim((ends[2] ?? 0) + 7_200 + TRIM_GRACE_S, 2), 2)
  t.equal(trim((ends[2] ?? 0) + 7_200 + TRIM_GRACE_S, 2), 1, 'the one that ends just there holds nothing any more')
  t.strictSame(stored(), ends.slice(3))
  t.notOk(relieve(databases, hwm_s), 'nothing is older than half of the retention')
  t.equal(databases.table[0]?.floor_s, 0)
  await writer.close()
})
