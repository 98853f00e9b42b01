import t from 'tap'
import { Points } from '../../../storage/archive/consolidate.ts'
import { ArchiveReader } from '../../../storage/archive/reader.ts'
import { readProgress } from '../../../storage/archive/recover.ts'
import { readTailPlace } from '../../../storage/archive/databases.ts'
import { readTail } from '../../../storage/archive/tail-file.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { writeSeconds } from '../temporary-archive.ts'

const S = 1_700_000_000

t.test('a reader follows the writer second by second, and closed buckets never change', async (t) => {
  const directory = temporaryFolder(t)
  const writer = new ArchiveWriter(directory, S)
  writeSeconds(writer, 'fe', 1, (metric, second) => metric + (second % 10))
  const reader = new ArchiveReader(directory, writer.ring.header, writer.ring.slabs)
  const first = writer.hwm_s - 1
  const [object] = writer.objects()
  if (object === undefined) throw new Error('no object')
  const points = new Points()
  const seen = new Map<number, number>()
  for (let i = 0; i < 700; i++) {
    writeSeconds(writer, 'fe', 1, (metric, second) => metric + (second % 10))
    const hwm = reader.hwm_s()
    if (hwm !== writer.hwm_s) t.fail(`the reader is at ${hwm}`)
    const values = new Float64Array((hwm - first) * 4)
    reader.readBase(object, first, hwm, values)
    for (let second = first; second < hwm; second++)
      if (values[second - first] !== second % 10) t.fail(`second ${second}`)
    reader.readCoarse(1, object, S, hwm - (hwm % 10), points)
    for (let bucket = 0; bucket < points.n; bucket++) {
      const sum = points.sum[bucket] ?? 0
      if ((seen.get(bucket) ?? sum) !== sum) t.fail(`bucket ${bucket} changed`)
      seen.set(bucket, sum)
    }
  }
  t.equal(reader.objects().length, 1)
  const tail = readTail(writer.databases.directory, readTailPlace(writer.databases) ?? { mark: 0, pair: 0 })
  t.equal(readProgress(writer.databases, tail).hwm_s, writer.hwm_s)
  await writer.close()
})
