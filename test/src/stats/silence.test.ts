import t from 'tap'
import { Silence } from '../../../src/stats/silence.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

t.test('a silence is noticed once, and again after it was broken', async (t) => {
  const clock = manualClock(1_000_000)
  const told: number[] = []
  const silence = new Silence(clock, (since_ms) => told.push(since_ms))
  clock.advance(60_000)
  silence.look()
  t.strictSame(told, [], 'before the first answer there is no silence')
  silence.heard()
  clock.advance(4_999)
  silence.look()
  t.strictSame(told, [])
  clock.advance(1)
  silence.look()
  clock.advance(9_000)
  silence.look()
  t.strictSame(told, [1_060_000])
  silence.heard()
  clock.advance(5_000)
  silence.look()
  t.strictSame(told, [1_060_000, 1_074_000])
  silence.stop()
})
