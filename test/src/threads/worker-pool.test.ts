import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { InlinePool, systemPool, WorkerPool } from '../../../src/threads/worker-pool.ts'
import { refuses } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { haproxyFixture } from '../../workers/host/haproxy-fixture.ts'

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

t.test('a thread that cannot start fails the tasks that wait for it, and the next start is tried again', async (t) => {
  const file = join(temporaryFolder(t, 'pool'), 'tasks.mjs')
  const options = { threads: 2, idle_ms: 60_000, queue_max: 8, workerData: undefined }
  const pool = new WorkerPool<typeof tasks>(pathToFileURL(file), options)
  t.teardown(() => pool.close())
  const failed = { message: /^no thread could be started: .*Cannot find module/ }
  await Promise.all(['a', 'b', 'c'].map((word) => t.rejects(pool.run('shout', word), failed)))
  writeFileSync(file, 'export const shout = (word) => word.toUpperCase()')
  t.equal(await pool.run('shout', 'd'), 'D')
})

/** One thread that is busy until `free` is called; records the order of tasks. */
function busyPool(t: Test, more: { readonly queue_max: number; readonly isFair?: true }) {
  const file = join(temporaryFolder(t, 'pool'), 'tasks.mjs')
  writeFileSync(
    file,
    `const done = []
    const note = (name) => done.push(name)
    export const wait = async (lock) => { Atomics.wait(lock, 0, 0); return note('wait') }
    export const search = () => note('search')
    export const restore = () => note('restore')
    export const order = () => done`,
  )
  const pool = new WorkerPool<BusyTasks>(pathToFileURL(file), {
    threads: 1,
    idle_ms: 60_000,
    workerData: undefined,
    ...more,
  })
  t.teardown(() => pool.close())
  const lock = new Int32Array(new SharedArrayBuffer(4))
  const free = () => {
    Atomics.store(lock, 0, 1)
    Atomics.notify(lock, 0)
  }
  return { pool, busy: pool.run('wait', lock), free }
}
interface BusyTasks {
  wait(lock: Int32Array): number
  search(input: undefined): number
  restore(input: undefined): number
  order(input: undefined): readonly string[]
}

t.test('TOO_MANY_AT_ONCE: more of a kind wait than allowed', async (t) => {
  const { pool, busy, free } = busyPool(t, { queue_max: 1 })
  const waiting = pool.run('search', undefined)
  const { details } = await refuses(t, 'TOO_MANY_AT_ONCE', pool.run('search', undefined))
  t.match(details.headers, { 'Retry-After': '3' })
  const other = pool.run('restore', undefined)
  free()
  await Promise.all([busy, waiting, other])
  t.same(await pool.run('order', undefined), ['wait', 'search', 'restore'], 'in order of arrival')
})

t.test('many of a kind delay no other kind', async (t) => {
  const { pool, busy, free } = busyPool(t, { queue_max: 4, isFair: true })
  const searches = [1, 2, 3, 4].map(() => pool.run('search', undefined))
  const restores = [1, 2].map(() => pool.run('restore', undefined))
  free()
  await Promise.all([busy, ...searches, ...restores])
  const order = ['wait', 'search', 'restore', 'search', 'restore', 'search', 'search']
  t.same(await pool.run('order', undefined), order)
})

t.test('a thread that takes several tasks runs them at once', async (t) => {
  const file = join(temporaryFolder(t, 'pool'), 'tasks.mjs')
  writeFileSync(
    file,
    `let [here, open] = [0, () => {}]
    const all = new Promise((resolve) => (open = resolve))
    export const meet = (count) => (++here === count && open(count), all)`,
  )
  const options = { threads: 1, tasksPerThread: 3, idle_ms: 60_000, queue_max: 8, workerData: undefined }
  const pool = new WorkerPool<{ meet(count: number): Promise<number> }>(pathToFileURL(file), options)
  t.teardown(() => pool.close())
  t.same(await Promise.all([3, 3, 3].map((count) => pool.run('meet', count))), [3, 3, 3], 'with a cold thread')
  t.same(await Promise.all([1, 1].map((count) => pool.run('meet', count))), [3, 3])
})

for (const isCutOff of [false, true])
  t.test(`a thread that loads its modules ends after it has them${isCutOff ? ', cut off' : ''}`, async (t) => {
    const file = join(temporaryFolder(t, 'pool'), 'tasks.mjs')
    writeFileSync(
      file,
      `import { workerData } from 'node:worker_threads'
      Atomics.wait(workerData, 0, 0)
      Atomics.store(workerData, 1, 1)
      export const order = () => ['done']`,
    )
    const lock = new Int32Array(new SharedArrayBuffer(8))
    const settings = { threads: 1, idle_ms: 60_000, queue_max: 1, isCutOff, workerData: lock }
    const pool = new WorkerPool<BusyTasks>(pathToFileURL(file), settings)
    const told = pool.run('order', undefined).catch(String)
    const closed = pool.close()
    Atomics.store(lock, 0, 1)
    Atomics.notify(lock, 0)
    await closed
    t.equal(lock[1], 1, 'it had its modules')
    if (!isCutOff) t.same(await told, ['done'], 'and its waiting task is done')
  })
