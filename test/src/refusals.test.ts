import t from 'tap'
import { Refusals } from '../../src/refusals.ts'
import { manualClock } from '../manual-clock.ts'

t.test('of each caller a bounded number of refusals is recorded, the rest is counted', async (test) => {
  const clock = manualClock()
  const refusals = new Refusals(clock)
  const recorded = (key: string, times: number) =>
    Array.from({ length: times }, () => refusals.mayRecord(key)).filter(Boolean).length
  test.equal(recorded('a', 100), 30)
  test.equal(recorded('b', 10), 10, 'another caller has his own')
  test.ok(refusals.isExhausted('a'))
  test.notOk(refusals.isExhausted('b'))
  test.notOk(refusals.isExhausted('nobody'))
  test.equal(refusals.takeUnrecorded('a'), 70)
  test.equal(refusals.takeUnrecorded('a'), 0)
  test.equal(refusals.takeUnrecorded('nobody'), 0)
  clock.advance(4_999)
  test.equal(recorded('a', 5), 0)
  clock.advance(1)
  test.equal(recorded('a', 5), 1)
  clock.advance(3_600_000)
  test.equal(recorded('a', 100), 30, 'never more than that at once')
})
