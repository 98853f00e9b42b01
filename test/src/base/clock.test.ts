import t from 'tap'
import { systemClock } from '../../../src/base/clock.ts'

t.test('the wall clock gives the time of day, the monotonic clock never goes back', async (test) => {
  const before_ms = Date.now()
  const now_ms = systemClock.now_ms()
  test.ok(now_ms >= before_ms && now_ms <= Date.now())
  const readings = Array.from({ length: 1000 }, () => systemClock.monotonic_ms())
  test.ok(readings.every((reading, i) => i === 0 || reading >= (readings[i - 1] ?? Infinity)))
  test.ok(systemClock.monotonic_ms() < now_ms, 'it has its own origin')
})
