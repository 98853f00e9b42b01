import t from 'tap'
import { createConsole } from '../../../src/machine/console-access.ts'
import type { Step } from '../../../src/drivers/driver.ts'

t.test('one step, whose reason holds no password', async (t) => {
  const plans: (readonly Step[])[] = []
  const access = createConsole({ engine: { run: async (steps) => (plans.push(steps), { isDryRun: true }) } })
  const password = { secret: 'Gut-1234' }
  t.strictSame(await access.change({ shell: true, password }), { isDryRun: true })
  await access.change({ shell: false, password: 'random' })
  await access.change({ shell: undefined, password })
  t.match(plans, [
    [{ kind: 'account', why: 'switch console access on', change: { account: 'console', shell: true, password } }],
    [{ why: 'switch console access off', change: { shell: false, password: 'random' } }],
    [{ why: 'change the console password', change: { shell: undefined, password } }],
  ])
})
