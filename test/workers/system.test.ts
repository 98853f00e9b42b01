import { join } from 'node:path'
import t from 'tap'
import { sentPlan } from '../../src/drivers/sent-plan.ts'
import { systemPool } from '../../src/threads/worker-pool.ts'
import * as tasks from '../../workers/system.ts'
import { viewOf } from '../src/drivers/haproxy/records.ts'
import { haproxyFixture } from './host/haproxy-fixture.ts'

t.test('plans are checked and carried out in the system thread', async (t) => {
  const { settings, driver, host, paths } = haproxyFixture(t)
  const pool = systemPool(settings)
  t.teardown(() => pool.close())
  const steps = driver.plan(undefined, viewOf({}), { atLeast: 'runtime' })
  t.equal(await pool.run('unitState', { unit: 'layer7proxy' }), 'stopped')
  t.strictSame(await pool.run('checkPlan', { plan: await sentPlan(steps) }), {
    ok: true,
    done: 1,
    recorded: 0,
    warnings: [],
  })
  t.equal(await host.readFile(paths.configFile), undefined, 'a check leaves nothing behind')
  t.strictSame(await pool.run('executePlan', { plan: await sentPlan(steps) }), {
    ok: true,
    done: steps.length,
    recorded: 0,
    warnings: [],
  })
  t.equal(await pool.run('unitState', { unit: 'layer7proxy' }), 'running')
})

t.test('a failed plan is returned as a value', async (t) => {
  const { settings, folder } = haproxyFixture(t)
  const pool = systemPool(settings)
  t.teardown(() => pool.close())
  const path = join(folder, 'missing', 'haproxy.cfg')
  const swap = {
    kind: 'replaceFile',
    why: 'swap',
    timeout_ms: 1,
    path,
    content: '',
    mode: 0o600,
    checked: true,
  } as const
  t.match(await pool.run('executePlan', { plan: await sentPlan([swap]) }), {
    ok: false,
    failedStep: 0,
    why: 'swap',
    output: /ENOENT/,
  })
})

t.test('only plans, and queries of units, run in this thread: an apply would wait for anything else', (t) => {
  t.strictSame(Object.keys(tasks).toSorted(), ['checkPlan', 'executePlan', 'unitState'])
  t.end()
})
