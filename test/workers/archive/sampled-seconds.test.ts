import t from 'tap'
import { readTailPlace } from '../../../storage/archive/databases.ts'
import { readTail } from '../../../storage/archive/tail-file.ts'
import { decodeBaseline } from '../../../storage/archive/tail.ts'
import { COUNTER_COUNT } from '../../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { TAIL_BLOCK_OBJECTS } from '../../../storage/limits.ts'
import { SampledSeconds } from '../../../workers/archive/sampled-seconds.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const START_S = 1_790_000_000
const COUNTERS = { valueNow: () => 0 }

t.test('a poll ends the seconds since the previous one; counts are spread over them exactly', async (t) => {
  const writer = new ArchiveWriter(temporaryFolder(t), START_S)
  const slot = writer.ensure('frontend', 'f', '')?.slot ?? 0
  const seconds = new SampledSeconds(writer)
  const time = (passed_s: number) => ({ archive_s: START_S + passed_s, monotonic_s: passed_s })
  const poll = (passed_s: number, increment: number, tick = passed_s) => {
    seconds.beginPoll()
    seconds.elapsed_s = seconds.sinceSample_s(time(passed_s))
    seconds.room(writer.registry.slots)
    seconds.sessions(slot, 7)
    seconds.sums.add(slot, 0, increment)
    seconds.close(START_S + tick, time(passed_s), 1, COUNTERS)
  }
  const storedAt_s = () => {
    const { records } = readTail(writer.databases.directory, readTailPlace(writer.databases) ?? { mark: 0, pair: 0 })
    const row = records.flatMap(({ parts }) => [...parts()]).findLast(({ kind }) => kind === 'baseline')
    return row && decodeBaseline(row.bytes, new Float64Array(COUNTER_COUNT * TAIL_BLOCK_OBJECTS)).second
  }
  t.equal(seconds.hasSample, false)
  poll(1, 5)
  t.equal(seconds.hasSample, true)
  t.equal(storedAt_s(), START_S + 1, 'before the first one everything is unknown')
  poll(1, 5)
  t.equal(writer.hwm_s, START_S + 1, 'that second is written')
  poll(4, 5)
  t.equal(storedAt_s(), START_S + 1, 'the increments lead to the counters')
  const rates = [1, 2, 3].map((second) => writer.ring.get(slot, START_S + second, 1))
  t.strictSame(rates, [3, 3, 4], 'with the counts that the previous poll could not store')
  t.equal(writer.ring.get(slot, START_S + 3, 0), 7)
  seconds.miss(START_S + 6, time(6))
  t.equal(writer.hwm_s, START_S + 4, 'a later poll may still add to them')
  seconds.miss(START_S + 11, time(11))
  t.equal(writer.hwm_s, START_S + 11)
  poll(12, 90)
  t.ok(Number.isNaN(writer.ring.get(slot, START_S + 11, 1)), 'too long ago')
  t.equal(storedAt_s(), START_S + 12, 'the increments are unknown')
  // A poll that ends a silence does so whenever it is answered.
  poll(20.7, 90, 20)
  poll(21.05, 3, 21)
  poll(22.05, 9, 22)
  poll(22.6, 4, 23)
  const after = [19, 20, 21, 22].map((second) => writer.ring.get(slot, START_S + second, 1))
  t.strictSame(after, [Number.NaN, Number.NaN, 9, 4], 'a third of a second is none')
  t.equal(writer.ring.get(slot, START_S + 20, 0), 7)
  t.equal(storedAt_s(), START_S + 21, 'with which counting begins')
  await writer.close()
})
