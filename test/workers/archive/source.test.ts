import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { until } from '../../fixtures/until.ts'
import { SilentSessions } from '../../../workers/archive/silent-sessions.ts'
import { createSource } from '../../../workers/archive/source.ts'
import { listen, listenFull, PATIENCE_MS, showProc, STATS } from './socket-fixture.ts'

t.test('the master socket: one request, the current worker and the old ones', async (t) => {
  const asked: string[] = []
  const path = await listen(t, (request) => {
    asked.push(request)
    return request.startsWith('show proc')
      ? showProc([20], [11, 12]) + STATS
      : request.startsWith('@!11')
        ? STATS
        : '\n'
  })
  const poll = await createSource({ kind: 'master-socket', path })(PATIENCE_MS)
  if (!poll.ok) throw new Error(poll.reason)
  t.strictSame(asked.toSorted(), ['@!11 show stat\n', '@!12 show stat\n', 'show proc; @1 show stat\n'])
  t.strictSame([poll.current.pid, poll.current.uptime_s], [20, 60])
  t.strictSame([poll.old.map(({ pid }) => pid), poll.oldPids], [[11], [11, 12]], 'one of them has just ended')
  t.equal(Buffer.from(poll.current.bytes.subarray(poll.current.from)).toString(), STATS)
})

t.test('a plain stats socket identifies its process', async (t) => {
  const path = await listen(t, () => `Name: HAProxy\nPid: 77\nUptime_sec: 9\n\n${STATS}`)
  const poll = await createSource({ kind: 'stats-socket', path })(PATIENCE_MS)
  t.match(poll, { ok: true, current: { pid: 77, uptime_s: 9 }, old: [], oldPids: [] })
})

t.test('every failure has a reason', async (t) => {
  const missing = await createSource({ kind: 'master-socket', path: '/nonexistent/master.sock' })(PATIENCE_MS)
  t.strictSame(missing, { ok: false, reason: 'its socket does not exist' })
  const silent = await listen(t, () => undefined)
  t.strictSame(await createSource({ kind: 'master-socket', path: silent })(200), {
    ok: false,
    reason: 'it did not answer within 200 ms',
  })
  const workerless = await listen(t, () => `${showProc([])}Can't find the target PID matching the prefix '@1'\n\n`)
  t.strictSame(await createSource({ kind: 'master-socket', path: workerless })(PATIENCE_MS), {
    ok: false,
    reason: "it refused: Can't find the target PID matching the prefix '@1'",
  })
  const headless = await listen(t, () => showProc([]) + STATS)
  t.match(await createSource({ kind: 'master-socket', path: headless })(PATIENCE_MS), {
    reason: 'its master has no worker',
  })
  const cut = await listen(t, () => '# pxna')
  t.match(await createSource({ kind: 'stats-socket', path: cut })(PATIENCE_MS), { reason: 'its answer was cut off' })
  const nameless = await listen(t, () => STATS)
  t.match(await createSource({ kind: 'stats-socket', path: nameless })(PATIENCE_MS), {
    reason: /did not report its process id/,
  })
})

t.test('a full socket is silent as well: the held ones are returned', async (t) => {
  const { path } = await listenFull(t, '')
  const yielded = t.capture(SilentSessions.prototype, 'yieldPlaces')
  t.strictSame(await createSource({ kind: 'any-socket', path })(PATIENCE_MS), {
    ok: false,
    reason: 'its socket accepts no more connections',
  })
  t.equal(yielded().length, 1)
})

t.test('a server that answers with megabytes of something else is no HAProxy', async (t) => {
  const flood = '\n'.repeat(8 * 1_024 * 1_024)
  for (const kind of ['master-socket', 'stats-socket', 'any-socket'] as const) {
    const path = await listen(t, () => flood)
    t.match(await createSource({ kind, path })(PATIENCE_MS), { ok: false, reason: 'its answer was cut off' }, kind)
  }
})

t.test('a socket of unknown kind: a master knows its processes, a process does not', async (t) => {
  const asked: string[] = []
  const master = await listen(t, (request) => {
    asked.push(request)
    return request === 'show proc\n' ? showProc([20]) : showProc([20]) + STATS
  })
  const ofMaster = createSource({ kind: 'any-socket', path: master })
  t.match(await ofMaster(PATIENCE_MS), { ok: true, current: { pid: 20 } })
  t.match(await ofMaster(PATIENCE_MS), { ok: true })
  const [sockets, poll] = ['@!20 show cli sockets\n', 'show proc; @1 show stat\n']
  t.strictSame(asked, ['show proc\n', poll, sockets, poll], 'determined once')
  let answers = true
  const process = await listen(t, (request) =>
    request === 'show proc\n'
      ? "Unknown command: 'show proc'\n\n"
      : answers
        ? `Pid: 7\nUptime_sec: 9\n\n${STATS}`
        : 'Unknown command\n\n',
  )
  const ofProcess = createSource({ kind: 'any-socket', path: process })
  t.match(await ofProcess(PATIENCE_MS), { ok: true, current: { pid: 7 } })
  answers = false
  t.match(await ofProcess(PATIENCE_MS), { ok: false })
  answers = true
  t.match(await ofProcess(PATIENCE_MS), { ok: true })
})

t.test('from 3.0 on a new process is asked once how much it has accepted', async (t) => {
  const asked: string[] = []
  let version = '3.0.11-1'
  const path = await listen(t, (request) => {
    asked.push(request)
    const info = `Version: ${version}\nPid: 20\nUptime_sec: 1\nCumConns: 5\n\n`
    return request === '@!20 show info\n' || request === 'show info\n'
      ? info
      : request.startsWith('show info')
        ? info + STATS
        : showProc([20]).replace('2.6.12\n# prog', `${version}\n# prog`) + STATS
  })
  const master = createSource({ kind: 'master-socket', path })
  t.match(await master(PATIENCE_MS), { ok: true, current: { intake: { accepted: 5, mayShare: false } } })
  t.match(await master(PATIENCE_MS), { ok: true, current: { intake: undefined } })
  t.equal(asked.filter((request) => request.includes('show info')).length, 1)
  version = '3.3.1'
  t.match(await createSource({ kind: 'stats-socket', path })(PATIENCE_MS), { current: { intake: { mayShare: true } } })
  version = '2.6.12'
  t.match(await createSource({ kind: 'stats-socket', path })(PATIENCE_MS), { ok: true, current: { intake: undefined } })
})

t.test('a poll in the middle of a reload asks for the new process', async (t) => {
  const answers = [
    '# pxname,svn',
    showProc([10]) + STATS,
    '# pxname,svn',
    showProc([20]).replace('2.6.12\n# prog', '3.0.11\n# prog') + STATS,
    "Can't find the target PID matching the prefix '@!20'\n\n",
    showProc([30]) + STATS,
  ]
  const cut = await listen(t, () => answers.shift())
  const source = createSource({ kind: 'master-socket', path: cut })
  t.match(await source(PATIENCE_MS), { ok: false }, 'a process that never had figures is asked once')
  t.match(await source(PATIENCE_MS), { ok: true, current: { pid: 10 } })
  t.match(await source(PATIENCE_MS), { ok: false, reason: 'it was just replaced' }, 'cut off, then replaced')
  t.match(await source(PATIENCE_MS), { ok: true, current: { pid: 30 } })
  answers.push(showProc([]) + STATS, showProc([40]) + STATS)
  t.match(await source(PATIENCE_MS), { ok: true, current: { pid: 40 } }, 'in the same poll')
  t.strictSame(answers, [])
})

t.test('a poll whose time passed while its thread stood still still accepts a prompt answer', async (t) => {
  const path = join(temporaryFolder(t), 'haproxy.sock')
  const server = createServer({ allowHalfOpen: true }, (socket) =>
    socket.once('data', () => setTimeout(() => socket.end(showProc([20]) + STATS), 20)),
  ).listen(path)
  await once(server, 'listening')
  t.teardown(() => server.close())
  const source = createSource({ kind: 'master-socket', path })
  // Also where this machine itself stalls, which one poll may not survive.
  await until('an answer', async () => (await source(0)).ok)
  t.pass('received')
})
