import t from 'tap'
import { InlinePool, systemPool, WorkerPool } from '../../src/worker-pool.ts'
import type * as SystemTasks from '../../workers/system.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'

const tasks = {
  double: async ({ value }: { readonly value: number }) => value * 2,
  shout: (word: string) => word.toUpperCase(),
  notATask: 7,
}

t.test('inline tasks are typed by their functions', async (t) => {
  const pool = new InlinePool(tasks)
  const four: number = await pool.run('double', { value: 2 })
  t.equal(four, 4)
  t.equal(await pool.run('shout', 'x'), 'X')
  // @ts-expect-error the input is of another type
  void pool.run('double', 'two')
  // @ts-expect-error not a function
  await t.rejects(pool.run('notATask', 1))
  await pool.close()
})

t.test('tasks of the system pool run one after another in a thread', async (t) => {
  const { settings } = haproxyFixture(t)
  const pool = systemPool(settings)
  const order: number[] = []
  const ask = async (index: number): Promise<void> => {
    await pool.run('unitState', { unit: 'layer7proxy' })
    order.push(index)
  }
  await Promise.all([0, 1, 2, 3, 4].map(ask))
  t.strictSame(order, [0, 1, 2, 3, 4])
  await pool.close()
})

t.test('more waiting than agreed is refused', async (t) => {
  const { settings } = haproxyFixture(t)
  const pool = new WorkerPool<typeof SystemTasks>(new URL('../../workers/system.ts', import.meta.url), {
    threads: 1,
    idle_ms: 0,
    queue_max: 1,
    workerData: settings,
  })
  const results = await Promise.allSettled([0, 1, 2].map(() => pool.run('unitState', { unit: 'layer7proxy' })))
  t.strictSame(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected'],
  )
  t.equal(await pool.run('unitState', { unit: 'layer7proxy' }), 'stopped', 'and later there is room again')
  await pool.close()
})
