import t from 'tap'
import { RestartPauses } from '../../../src/base/restart-pauses.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

t.test('they grow from start to start, and are reset by a long run', async (test) => {
  const clock = manualClock()
  const pauses = new RestartPauses(clock)
  const ended = (ran_ms: number) => {
    pauses.started()
    clock.advance(ran_ms)
    return pauses.next_ms()
  }
  test.same(
    Array.from({ length: 9 }, () => ended(60_000)),
    [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000],
  )
  test.same([ended(60_001), ended(0)], [250, 500])
})
