import t from 'tap'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { SampledSeconds } from '../../../workers/archive/sampled-seconds.ts'
import { temporaryFolder } from '../../storage/temporary-archive.ts'

const START_S = 1_790_000_000
const BASELINE = { pid: 1, counter: () => 0, changed: () => false }

t.test('a poll ends the seconds since the one before; what is counted is spread over them exactly', async (t) => {
  const writer = new ArchiveWriter(temporaryFolder(t), START_S)
  const slot = writer.ensure('frontend', 'f', '')?.slot ?? 0
  const seconds = new SampledSeconds(writer)
  const time = (passed_s: number) => ({ archive_s: START_S + passed_s, monotonic_s: passed_s })
  const poll = (passed_s: number, increment: number) => {
    seconds.beginPoll()
    seconds.elapsed_s = seconds.sinceSample_s(time(passed_s))
    seconds.sums.room(writer.registry.slots)
    seconds.gauge(slot, 7)
    seconds.sums.add(slot, 0, increment)
    return seconds.close(START_S + passed_s, time(passed_s), BASELINE, () => stored++)
  }
  let stored = 0
  t.equal(seconds.hasSample, false)
  t.equal(poll(1, 5), true)
  t.equal(seconds.hasSample, true)
  t.equal(stored, 1, 'nobody knows what was before the first')
  t.equal(poll(1, 5), false, 'that second is written')
  poll(4, 5)
  const rates = [1, 2, 3].map((second) => writer.ring.get(slot, START_S + second, 1))
  t.strictSame(rates, [3, 3, 4], 'with what the poll before could not store')
  t.equal(writer.ring.get(slot, START_S + 3, 0), 7)
  seconds.miss(START_S + 6, time(6))
  t.equal(writer.hwm_s, START_S + 4, 'a later poll may still tell')
  seconds.miss(START_S + 11, time(11))
  t.equal(writer.hwm_s, START_S + 11)
  poll(12, 90)
  t.ok(Number.isNaN(writer.ring.get(slot, START_S + 11, 1)), 'too long ago')
  await writer.close()
})
