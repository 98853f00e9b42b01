import t from 'tap'
import { chunkLookup } from '../../../storage/archive/databases.ts'
import { rewindRing, rowsBetween } from '../../../storage/archive/rewind-ring.ts'
import { TierReader } from '../../../storage/archive/tier-reader.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { writeSeconds } from '../temporary-archive.ts'

t.test('seconds that only chunks hold are in the ring again, and nothing newer', async (t) => {
  const writer = new ArchiveWriter(temporaryFolder(t), 1_700_000_000)
  writeSeconds(writer, 'fe', 900, (metric, second) => metric * 10 + (second % 7))
  const { databases, ring, hwm_s } = writer
  const to = hwm_s - 600
  const reader = new TierReader(databases.table, chunkLookup(databases), ring, 'stored')
  rewindRing(ring, rowsBetween(writer.objects(), reader, hwm_s, to - 100, to), to - 100, to)
  t.strictSame([ring.oldest(), ring.written()], [to - 100, to])
  let wrong = 0
  for (let second = to - 100; second < to; second++) {
    for (let metric = 0; metric < 4; metric++) if (ring.get(0, second, metric) !== metric * 10 + (second % 7)) wrong++
  }
  t.equal(wrong, 0)
  await writer.close()
})
