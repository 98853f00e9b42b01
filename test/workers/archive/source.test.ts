import t from 'tap'
import { createSource } from '../../../workers/archive/source.ts'
import { listen, showProc, STATS } from './socket-fixture.ts'

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
  const poll = await createSource({ kind: 'master-socket', path })(900)
  if (!poll.ok) throw new Error(poll.reason)
  t.strictSame(asked.toSorted(), ['@!11 show stat\n', '@!12 show stat\n', 'show proc; @1 show stat\n'])
  t.strictSame([poll.current.pid, poll.current.uptime_s], [20, 60])
  t.strictSame([poll.old.map(({ pid }) => pid), poll.oldPids], [[11], [11, 12]], 'one of them has just ended')
  t.equal(Buffer.from(poll.current.bytes.subarray(poll.current.from)).toString(), STATS)
})

t.test('a plain stats socket says which process it is', async (t) => {
  const path = await listen(t, () => `Name: HAProxy\nPid: 77\nUptime_sec: 9\n\n${STATS}`)
  const poll = await createSource({ kind: 'stats-socket', path })(900)
  t.match(poll, { ok: true, current: { pid: 77, uptime_s: 9 }, old: [], oldPids: [] })
})

t.test('every failure has a reason', async (t) => {
  const missing = await createSource({ kind: 'master-socket', path: '/nonexistent/master.sock' })(50)
  t.strictSame(missing, { ok: false, reason: 'its socket does not exist' })
  const silent = await listen(t, () => undefined)
  t.strictSame(await createSource({ kind: 'master-socket', path: silent })(50), {
    ok: false,
    reason: 'it did not answer within 50 ms',
  })
  const workerless = await listen(t, () => `${showProc([])}Can't find the target PID matching the prefix '@1'\n\n`)
  t.strictSame(await createSource({ kind: 'master-socket', path: workerless })(900), {
    ok: false,
    reason: "it refused: Can't find the target PID matching the prefix '@1'",
  })
  const headless = await listen(t, () => showProc([]) + STATS)
  t.match(await createSource({ kind: 'master-socket', path: headless })(900), { reason: 'its master has no worker' })
  const cut = await listen(t, () => '# pxna')
  t.match(await createSource({ kind: 'stats-socket', path: cut })(900), { reason: 'its answer was cut off' })
  const nameless = await listen(t, () => STATS)
  t.match(await createSource({ kind: 'stats-socket', path: nameless })(900), { reason: /which process/ })
})
