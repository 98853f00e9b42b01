import t from 'tap'
import { STEADY_MS, SteadyClock } from '../../../workers/logs/steady-clock.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

/** A clock that can be set. */
function settable() {
  const clock = manualClock()
  let offset_ms = 0
  return {
    ...clock,
    now_ms: () => clock.now_ms() + offset_ms,
    set: (ms: number) => (offset_ms += ms),
  }
}

t.test('it is trusted when it has run evenly for half a day', async (test) => {
  const clock = settable()
  const steady = new SteadyClock(clock)
  test.equal(steady.now_ms(), undefined, 'at a start nothing is known of it')
  clock.advance(STEADY_MS - 1)
  test.equal(steady.now_ms(), undefined)
  clock.advance(1)
  test.equal(steady.now_ms(), clock.now_ms())
})

t.test('slewing and steps back raise no doubt, a step ahead does', async (test) => {
  const clock = settable()
  const steady = new SteadyClock(clock)
  clock.advance(STEADY_MS)
  for (let look = 0; look < 10; look++) {
    clock.set(30_000)
    test.equal(steady.now_ms(), clock.now_ms())
  }
  clock.set(-86_400_000)
  test.equal(steady.now_ms(), clock.now_ms())
  clock.set(86_400_000)
  test.equal(steady.now_ms(), undefined)
  clock.advance(STEADY_MS)
  test.equal(steady.now_ms(), clock.now_ms())
})
