import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { SilentSessions } from '../../../workers/archive/silent-sessions.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { PATIENCE_MS, STATS } from './socket-fixture.ts'

interface Process {
  connections: number
  stopping: number
}

/** Processes behind one socket: each session belongs to the one that is current when it is opened. */
async function processes(t: Test) {
  const path = join(temporaryFolder(t), 'haproxy.sock')
  const open = new Map<Socket, number>()
  const all = new Map<number, Process>()
  const farm = { current: 0, asked: [] as number[] }
  const begin = (pid: number) => {
    const before = all.get(farm.current)
    if (before !== undefined) before.stopping = 1
    all.set(pid, { connections: 0, stopping: 0 })
    farm.current = pid
  }
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const pid = farm.current
    open.set(socket, pid)
    socket.on('close', () => open.delete(socket)).on('error', () => undefined)
    socket.on('end', () => socket.end())
    socket.once('data', (data) => {
      farm.asked.push(data.toString() === 'show info; show stat\n' ? pid : -1)
      const { connections, stopping } = all.get(pid) ?? { connections: 0, stopping: 1 }
      socket.end(`Pid: ${pid}\nUptime_sec: 1\nStopping: ${stopping}\nCurrConns: ${connections}\n\n${STATS}`)
    })
  }).listen(path)
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of open.keys()) socket.destroy()
    server.close()
  })
  begin(1)
  const opened = async (count: number) => {
    for (let n = 0; n < count; n++) await once(server, 'connection')
  }
  const held = () => [...open.values()]
  const closed = async (pid: number) => {
    for (const [socket, of] of open) if (of === pid) await once(socket, 'close')
  }
  return { target: { path }, farm, all, begin, opened, held, closed }
}

const pids = (answers: readonly { readonly pid: number }[]) =>
  answers.map(({ pid }) => pid).toSorted((one, other) => one - other)

t.test('no session is used while nothing is replaced, and few are open', async (t) => {
  const { target, farm, opened, held } = await processes(t)
  const sessions = new SilentSessions()
  t.same(await sessions.poll(target, 1, PATIENCE_MS), [])
  for (let poll = 0; poll < 3; poll++) {
    await opened(4)
    t.same(await sessions.poll(target, 1, PATIENCE_MS), [])
  }
  t.same(farm.asked, [])
  t.ok(held().length <= 6, `${held().length} of ten`)
})

t.test('a replaced process reports its figures at once, and is released when there is nothing to add', async (t) => {
  const { target, farm, begin, opened, closed } = await processes(t)
  const sessions = new SilentSessions()
  await sessions.poll(target, 1, PATIENCE_MS)
  await opened(2)
  begin(2)
  await opened(1)
  begin(3)
  await opened(1)
  t.same(pids(await sessions.poll(target, 3, PATIENCE_MS)), [1, 2], 'also one that no poll saw')
  t.same(sessions.pids, [])
  await Promise.all([closed(1), closed(2)])
  t.ok(farm.asked.length <= 4)
  t.notOk(farm.asked.includes(-1), 'nothing else is sent')
  t.same(await sessions.poll(target, 3, PATIENCE_MS), [], 'once')
})

t.test('one that still serves is polled to its end', async (t) => {
  const { target, all, begin, opened } = await processes(t)
  const sessions = new SilentSessions()
  await sessions.poll(target, 1, PATIENCE_MS)
  const first = all.get(1)
  if (first !== undefined) first.connections = 1
  await opened(2)
  t.same(await sessions.poll(target, 1, PATIENCE_MS), [])
  begin(2)
  t.same(pids(await sessions.poll(target, 2, PATIENCE_MS)), [1])
  t.same(sessions.pids, [1])
  t.same(await sessions.poll(target, 2, PATIENCE_MS), [], 'not at every poll')
  t.same(sessions.pids, [1], 'and it is held meanwhile')
})

t.test('a process that ends while HAProxy is silent is polled all the same', async (t) => {
  const { target, begin, opened } = await processes(t)
  const sessions = new SilentSessions()
  await sessions.poll(target, 1, PATIENCE_MS)
  await opened(2)
  await sessions.poll(target, 1, PATIENCE_MS)
  begin(2)
  sessions.yieldPlaces()
  t.same(pids(await sessions.poll(target, 2, PATIENCE_MS)), [1])
})

t.test('no session is spent on a request without time', async (t) => {
  const { target, farm, begin, opened } = await processes(t)
  const sessions = new SilentSessions()
  await sessions.poll(target, 1, PATIENCE_MS)
  await opened(2)
  await sessions.poll(target, 1, PATIENCE_MS)
  begin(2)
  t.same(await sessions.poll(target, 2, 1), [])
  t.same(farm.asked, [])
  t.same(pids(await sessions.poll(target, 2, PATIENCE_MS)), [1], 'it is asked when there is time')
})

t.test('all places are returned when HAProxy stays silent', async (t) => {
  const { target, opened, held, closed } = await processes(t)
  const sessions = new SilentSessions()
  await sessions.poll(target, 1, PATIENCE_MS)
  await opened(3)
  for (let halves = 0; halves < 3; halves++) sessions.yieldPlaces()
  await closed(1)
  t.same(held(), [])
})
