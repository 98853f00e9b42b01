import { statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readTailPlace } from '../../../storage/archive/databases.ts'
import { recoverBaseline } from '../../../storage/archive/recover.ts'
import { readTail } from '../../../storage/archive/tail-file.ts'
import { COUNTER_COUNT } from '../../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { CHUNKS_EVERY_S, TAIL_KEPT_S } from '../../../storage/limits.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { writeSeconds } from '../temporary-archive.ts'

const S = 1_700_000_000

t.test('the tail holds the last minutes, in two files that do not grow', async (t) => {
  const directory = temporaryFolder(t)
  const writer = new ArchiveWriter(directory, S)
  const sizes = () => ['tail-0', 'tail-1'].map((name) => statSync(join(directory, name)).size)
  writeSeconds(writer, 'fe', 600, (metric, second) => (second % 7) * metric)
  const before = sizes()
  for (let round = 0; round < 10; round++) {
    writeSeconds(writer, 'fe', 97, (metric, second) => (second % 7) * metric)
    const { records, damaged } = readTail(directory, readTailPlace(writer.databases) ?? { mark: 0, pair: 0 })
    t.strictSame(damaged, [])
    const seconds = records.flatMap(({ parts }) => [...parts()].map(({ second }) => second))
    const [first = 0] = seconds
    t.ok(first <= writer.hwm_s - TAIL_KEPT_S - CHUNKS_EVERY_S, `${writer.hwm_s - first} seconds`)
    t.ok(first >= writer.hwm_s - 4 * (TAIL_KEPT_S + CHUNKS_EVERY_S), 'and not many more')
    t.strictSame(
      seconds,
      seconds.map((_, i) => first + i),
    )
  }
  t.ok(
    sizes().every((size, i) => size <= (before[i] ?? 0) * 1.3),
    `${before.join()} and ${sizes().join()} bytes`,
  )
  await writer.close()
})

t.test('a stored baseline plus the increments since is the counter', async (t) => {
  const writer = new ArchiveWriter(temporaryFolder(t), S)
  const object = writer.ensure('frontend', 'fe', '')
  let total = 1_000
  for (let i = 0; i < 100; i++) {
    const second = writer.hwm_s
    writer.ring.beginSecond(second)
    writer.ring.set(object?.slot ?? 0, second, 0, 1)
    for (let metric = 1; metric <= COUNTER_COUNT; metric++) writer.ring.set(object?.slot ?? 0, second, metric, i)
    total += i
    writer.commit(second + 1, true, { pid: 5, counters: { valueNow: () => total }, changed: { has: () => i === 0 } })
    const recovered = recoverBaseline(writer.databases, writer.objects())?.counters.get(object?.id ?? 0)
    t.strictSame(
      recovered,
      Array.from({ length: COUNTER_COUNT }, () => total),
    )
  }
  t.equal(recoverBaseline(writer.databases, writer.objects())?.pid, 5)
  await writer.close()
})
