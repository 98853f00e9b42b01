import t from 'tap'
import { OldWorkers } from '../../../workers/archive/old-workers.ts'
import { Questions } from '../../../workers/archive/questions.ts'
import { listen, listenForSessions, PATIENCE_MS, STATS } from './socket-fixture.ts'

async function begin(t: Parameters<typeof listen>[0]) {
  const state = { connections: 3, asked: [] as string[] }
  const worker = await listenForSessions(t, (command) => {
    state.asked.push(command)
    return command === 'show info' ? `Pid: 20\nCurrConns: ${state.connections}\n\n` : STATS
  })
  const path = await listen(t, (request) => {
    state.asked.push(request.trim())
    return STATS
  })
  return { state, worker, workers: new OldWorkers(new Questions({ path }), worker.path), master: { path } }
}

t.test('a watched worker is held until nothing is left to count', async (t) => {
  const { state, worker, workers } = await begin(t)
  await workers.watch(20, PATIENCE_MS)
  await workers.watch(20, PATIENCE_MS)
  t.equal(worker.open.size, 1, 'one session')
  t.match(await workers.poll([20], 30, PATIENCE_MS), { answers: [{ pid: 20 }] })
  t.equal(worker.open.size, 1)
  state.connections = 0
  t.match(await workers.poll([20], 30, PATIENCE_MS), { answers: [{ pid: 20 }] }, 'its last figures')
  await worker.closed()
  t.same(await workers.poll([], 30, PATIENCE_MS), { answers: [], ended: [] })
  t.notOk(
    state.asked.some((request) => request.startsWith('@')),
    'the master was not needed',
  )
  t.equal(worker.open.size, 0)
})

t.test('an unwatched one is asked through the master', async (t) => {
  const { state, workers, master } = await begin(t)
  t.match(await workers.poll([19], 30, PATIENCE_MS), { answers: [{ pid: 19 }], ended: [] })
  t.strictSame(state.asked, ['@!19 show stat'])
  const alone = new OldWorkers(new Questions(master), undefined)
  await alone.watch(20, PATIENCE_MS)
  t.match(await alone.poll([20], 30, PATIENCE_MS), { answers: [{ pid: 20 }] })
})

t.test('a worker that has ended is distinguished from one that is too busy to answer', async (t) => {
  const behind = async (answer: (request: string) => string | undefined) =>
    new OldWorkers(new Questions({ path: await listen(t, answer) }), undefined)
  const ended = await behind(() => "Can't find the target CLI process!\n")
  t.same(await ended.poll([20], 30, PATIENCE_MS), { answers: [], ended: [20] })
  const busy = await behind(() => undefined)
  t.same(await busy.poll([20], 30, 100), { answers: [], ended: [] })
  t.same(await busy.poll([20], 30, 100), { answers: [], ended: [] }, 'it is not asked again')
})

t.test('many take turns, and one that has no turn in time is released', async (t) => {
  const { worker, workers } = await begin(t)
  await workers.watch(20, PATIENCE_MS)
  const others = Array.from({ length: 17 }, (_, i) => 100 + i)
  const first = await workers.poll([...others, 20], 30, PATIENCE_MS)
  const second = await workers.poll([...others, 20], 30, PATIENCE_MS)
  t.equal(first.answers.length, 16)
  t.strictSame(
    second.answers.slice(0, 2).map(({ pid }) => pid),
    [116, 20],
  )
  t.equal(worker.open.size, 1, 'held until its turn')
  await workers.poll([...Array.from({ length: 128 }, (_, i) => 200 + i), 20], 30, PATIENCE_MS)
  await worker.closed()
  t.equal(worker.open.size, 0)
})

t.test('long answers are read one by one', async (t) => {
  const path = await listen(t, () => STATS.replace('fe,', `${'x'.repeat(9_000_000)},`))
  const workers = new OldWorkers(new Questions({ path }), undefined)
  t.equal((await workers.poll([1, 2, 3], 30, 5_000)).answers.length, 3, 'unknown beforehand')
  t.strictSame((await workers.poll([1, 2, 3], 30, 5_000)).answers.length, 1)
})
