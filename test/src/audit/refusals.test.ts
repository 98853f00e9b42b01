import t from 'tap'
import { Refusals } from '../../../src/audit/refusals.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const entry = (endpoint: string, at = '2026-01-02T03:04:05.000Z') => ({ at, endpoint })

t.test('of each caller some refusals are recorded one by one, and the rest as one entry with a count', async (test) => {
  const clock = manualClock()
  const refusals = new Refusals(clock)
  const own = (key: string, times: number, endpoint = 'x') =>
    Array.from({ length: times }, () => refusals.isOwnEntry(key, entry(endpoint))).filter(Boolean).length
  test.equal(own('a', 90), 30)
  test.equal(own('b', 10), 10, 'another caller has his own limit')
  test.equal(own('a', 10, 'y'), 0)
  refusals.isOwnEntry('a', entry('x', '2026-01-02T03:05:05.000Z'))
  test.same(refusals.take('b'), [])
  test.same(refusals.take('nobody'), [])
  test.same(refusals.take('a'), [
    {
      last: entry('x', '2026-01-02T03:05:05.000Z'),
      count: 71,
      endpoints: { x: 61, y: 10 },
      since: '2026-01-02T03:04:05.000Z',
    },
  ])
  test.same(refusals.take('a'), [])
  clock.advance(299_999)
  test.equal(own('a', 5), 0)
  clock.advance(1)
  test.equal(own('a', 5), 1)
  test.match(refusals.take(), [{ count: 9 }])
  clock.advance(24 * 3_600_000)
  test.equal(own('a', 100), 30, 'never more than that at once')
})

t.test('one entry distinguishes a bounded number of endpoints', async (test) => {
  const refusals = new Refusals(manualClock())
  for (let n = 0; n < 130; n++) refusals.isOwnEntry('a', entry(`e${n}`))
  const [repeated] = refusals.take()
  test.equal(Object.keys(repeated?.endpoints ?? {}).length, 21)
  test.equal(repeated?.endpoints['others'], 80)
})

t.test('beginnings of a caller with frequent refusals are merged, and never refused', async (test) => {
  const clock = manualClock()
  const refusals = new Refusals(clock)
  test.equal(refusals.beginning_s('a'), 0)
  for (let n = 0; n < 30; n++) refusals.isOwnEntry('a', entry('x'))
  test.equal(refusals.beginning_s('a'), 60)
  test.equal(refusals.beginning_s('a'), undefined)
  clock.advance(59_999)
  test.equal(refusals.beginning_s('a'), undefined)
  clock.advance(1)
  test.equal(refusals.beginning_s('a'), 60)
  clock.advance(300_000)
  test.equal(refusals.beginning_s('a'), 0)
})

t.test('callers are forgotten, but not their unrecorded counts', async (test) => {
  const refusals = new Refusals(manualClock())
  for (let n = 0; n < 31; n++) refusals.isOwnEntry('first', entry('x'))
  for (let n = 0; n < 20_000; n++) refusals.isOwnEntry(`caller ${n}`, entry('x'))
  test.match(refusals.take(), [{ count: 1 }])
})

t.test('counts are recorded once a minute, whatever the caller does meanwhile', async (test) => {
  const clock = manualClock()
  const refusals = new Refusals(clock)
  for (let n = 0; n < 31; n++) refusals.isOwnEntry('a', entry('x'))
  test.match(refusals.take('a'), [{ count: 1 }])
  refusals.isOwnEntry('a', entry('x'))
  test.same(refusals.take('a'), [], 'a success immediately afterwards')
  clock.advance(59_999)
  refusals.isOwnEntry('a', entry('x'))
  test.same(refusals.take('a'), [])
  clock.advance(1)
  test.match(refusals.take('a'), [{ count: 2 }])
})
