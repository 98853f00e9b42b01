import t from 'tap'
import { consoleAccess } from '../../src/console-access.ts'
import type { Step } from '../../src/drivers/driver.ts'

t.test('one step, whose reason holds no password', async (t) => {
  const plans: (readonly Step[])[] = []
  const set = consoleAccess({ run: async (steps) => (plans.push(steps), { isDryRun: true }) })
  const password = { secret: 'Gut-1234' }
  t.strictSame(await set({ shell: true, password }), { isDryRun: true })
  await set({ shell: false, password: 'random' })
  await set({ shell: undefined, password })
  t.match(plans, [
    [{ kind: 'account', why: 'switch console access on', change: { account: 'console', shell: true, password } }],
    [{ why: 'switch console access off', change: { shell: false, password: 'random' } }],
    [{ why: 'change the console password', change: { shell: undefined, password } }],
  ])
})
