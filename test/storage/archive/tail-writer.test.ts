import t from 'tap'
import { keyFirst } from '../../../storage/archive/layout.ts'
import { recoverBaseline } from '../../../storage/archive/recover.ts'
import { COUNTER_COUNT } from '../../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { TAIL_KEPT_S } from '../../../storage/limits.ts'
import { temporaryFolder, writeSeconds } from '../temporary-archive.ts'

const S = 1_700_000_000

t.test('the tail holds the last minutes only', async (t) => {
  const writer = new ArchiveWriter(temporaryFolder(t), S)
  writeSeconds(writer, 'fe', TAIL_KEPT_S + 50, () => 1)
  const seconds = Array.from(writer.databases.tail.getKeys(), keyFirst)
  t.strictSame(
    [seconds[0], seconds.at(-1), seconds.length],
    [writer.hwm_s - TAIL_KEPT_S, writer.hwm_s - 1, TAIL_KEPT_S],
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
