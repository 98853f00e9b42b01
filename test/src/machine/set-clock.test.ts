import t from 'tap'
import type { Step } from '../../../src/drivers/driver.ts'
import { createClock } from '../../../src/machine/set-clock.ts'

t.test('the clock is set through timedated, once, and timekeepers are notified', async (test) => {
  for (const isDryRun of [false, true]) {
    const plans: (readonly Step[])[] = []
    let told = 0
    const run = async (steps: readonly Step[]) => {
      plans.push(steps)
      return { isDryRun }
    }
    const clock = createClock({ engine: { run }, archives: { clockStepped: () => void (told += 1) } })
    test.same(await clock.set('2026-01-31 13:45:07'), { isDryRun })
    test.match(plans, [
      [{ kind: 'run', argv: ['timedatectl', 'set-time', '2026-01-31 13:45:07'], undo: 'irreversible' }],
    ])
    test.equal(told, isDryRun ? 0 : 1)
  }
})

t.test('a refused step is passed on and none is notified', async (test) => {
  const clock = createClock({
    engine: { run: () => Promise.reject(new Error('refused')) },
    archives: { clockStepped: () => test.fail('notified') },
  })
  await test.rejects(clock.set('2026-01-31 13:45:07'), { message: 'refused' })
})
