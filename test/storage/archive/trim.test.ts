import t from 'tap'
import { keyFirst } from '../../../storage/archive/layout.ts'
import { relieve, trimKeys, trimTier } from '../../../storage/archive/trim.ts'
import { TIERS } from '../../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { ARCHIVE_OBJECTS_MAX, TRIM_GRACE_S } from '../../../storage/limits.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { writeSeconds } from '../temporary-archive.ts'

const S = 1_700_000_000

t.test('only chunks entirely before the retention are deleted, a limited number at a time', async (t) => {
  const writer = new ArchiveWriter(temporaryFolder(t), S)
  writeSeconds(writer, 'fe', 1_000, () => 1)
  const { databases, hwm_s } = writer
  const stored = () => Array.from(databases.tiers[0]?.getKeys() ?? [], keyFirst)
  const ends = stored()
  t.equal(ends.length, 8)
  const trim = (now_s: number, limit: number) =>
    databases.environment.transactionSync(() => trimTier(databases, 0, now_s, [], limit))
  t.equal(trim(hwm_s, 100), 0)
  t.equal(trim((ends[0] ?? 0) + 7_200 + TRIM_GRACE_S - 1, 2), 0, 'kept a while for current readers')
  t.equal(trim((ends[2] ?? 0) + 7_200 + TRIM_GRACE_S, 2), 2)
  t.equal(trim((ends[2] ?? 0) + 7_200 + TRIM_GRACE_S, 2), 1, 'the one that ends just there holds nothing any more')
  t.strictSame(stored(), ends.slice(3))
  t.notOk(relieve(databases, hwm_s), 'nothing is older than half of the retention')
  t.equal(databases.table[0]?.floor_s, 0)
  await writer.close()
})

t.test('with the maximum of objects, a turn removes more than is added until the next one', async (t) => {
  for (const { step_s, points } of TIERS) {
    const coming = (TIERS.length * ARCHIVE_OBJECTS_MAX) / (step_s * points)
    t.ok(trimKeys(TIERS, ARCHIVE_OBJECTS_MAX) >= 2 * coming, `chunks of ${points} points of ${step_s} s`)
  }
})
