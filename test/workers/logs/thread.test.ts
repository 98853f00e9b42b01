import { once } from 'node:events'
import { existsSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LogStore } from '../../../storage/logs/store.ts'
import type { FromLogThread, LogsOptions } from '../../../workers/logs/messages.ts'
import { LogThread } from '../../../workers/logs/thread.ts'
import { logFolder, logLine, logRow, NO_LOSSES } from '../../fixtures/log-rows.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { noSmallDisk, smallDisk } from '../../fixtures/small-disk.ts'

const LIMITS = { bytes_max: 1_000_000, age_ms: 1_000_000_000_000_000 }
const NOW_MS = logRow().at_ms
const DAY_MS = 86_400_000

async function asked(thread: LogThread, told: FromLogThread[], type: 'search' | 'top'): Promise<FromLogThread> {
  const before = told.length
  thread.receive({ type, request: 9, filter: {}, limit: 10, after: undefined })
  await thread.stop()
  const answer = told.slice(before).find((message) => message.type !== 'warning')
  if (answer === undefined) throw new Error('there is no answer')
  return answer
}

t.test('searches are answered from stored rows, before it ends', async (test) => {
  const directory = logFolder(test)
  const store = new LogStore(directory, LIMITS)
  store.append([logRow({ path: '/a?b' }), logRow({ path: '/a?c', status: 404 })], {})
  store.close()
  for (const type of ['search', 'top'] as const) {
    const told: FromLogThread[] = []
    const thread = new LogThread({ directory, limits: LIMITS, source: undefined }, (message) => told.push(message))
    const answer = await asked(thread, told, type)
    const losses = NO_LOSSES
    if (type === 'search') test.match(answer, { type: 'page', request: 9, answer: { isMore: false, losses } })
    else test.match(answer, { answer: { rows: 2, paths: [['/a', 2]], sources: [['192.0.2.7', 2]], losses } })
  }
})

t.test('counts are reported', async (test) => {
  const directory = logFolder(test)
  const store = new LogStore(directory, LIMITS)
  store.append([logRow({ path: '/kept before' })], {})
  const { bytes } = store
  store.close()
  const counts = await new Promise((resolve) => {
    const thread = new LogThread({ directory, limits: LIMITS, source: undefined }, (message) => {
      if (message.type === 'counts') void thread.stop().then(() => resolve(message.counts))
    })
    thread.run()
  })
  test.same(counts, { lines: 0, bytes, losses: NO_LOSSES }, 'since the thread began')
})

t.test('damage is reported, and the rest is answered', async (test) => {
  const directory = logFolder(test)
  writeFileSync(join(directory, '000000000001.segment'), 'nothing')
  const told: FromLogThread[] = []
  const thread = new LogThread({ directory, limits: LIMITS, source: undefined }, (message) => told.push(message))
  test.match(await asked(thread, told, 'search'), { answer: { rows: [] } })
  test.match(told, [{ type: 'warning', message: 'a part of the access log is damaged and was skipped' }, {}])
  rmSync(join(directory, '000000000001.segment'))
})

/** A HAProxy that sends the same lines to every reader. */
async function saying(test: Test, lines: readonly string[]): Promise<LogsOptions['source']> {
  const folder = logFolder(test)
  const source = { masterSocket: join(folder, 'm'), statsSocket: join(folder, 's'), ring: 'r' }
  const processes = '#<PID> <type> <reloads> <uptime> <version>\n1 master 0 0d 2.6\n# workers\n4711 worker 0 0d 2.6\n'
  const open = new Set<Socket>()
  const serve = async (path: string, answer: (socket: Socket) => void) => {
    const server = createServer((socket) => {
      open.add(socket)
      socket.on('error', () => undefined).once('data', () => answer(socket))
    })
    await once(server.listen(path), 'listening')
    test.teardown(() => server.close())
  }
  await serve(source.masterSocket, (socket) => socket.end(processes))
  await serve(source.statsSocket, (socket) => socket.write(`Pid: 4711\n\n${lines.join('\n')}\n`))
  test.teardown(() => {
    for (const socket of open) socket.destroy()
  })
  return source
}

t.test(
  'on a full disk old lines are deleted as on any other, and new ones get their space',
  { skip: noSmallDisk },
  async (test) => {
    const disk = smallDisk(test, 1)
    const directory = join(disk, 'logs')
    const store = new LogStore(directory, LIMITS)
    const noise = (at: number) => `/${Buffer.from(String(Math.sin(at))).toString('hex')}`
    store.append(
      Array.from({ length: 3_000 }, (_, at) => logRow({ path: noise(at), at_ms: NOW_MS - 30 * DAY_MS })),
      {},
    )
    store.tidy(NOW_MS, {})
    store.close()
    const [segment] = store.segments
    const { bavail, bsize } = statfsSync(disk)
    writeFileSync(join(disk, 'filler'), Buffer.alloc(bavail * bsize))
    const source = await saying(
      test,
      Array.from({ length: 500 }, (_, at) => logLine(at + 1, noise(-at))),
    )
    const limits = { ...LIMITS, age_ms: 31 * DAY_MS }
    const clock = manualClock(NOW_MS)
    await new Promise<void>((resolve) => {
      const told = (message: FromLogThread) => {
        // The disk refused them; then the day comes on which the old ones expire.
        if (message.type === 'warning') clock.advance(2 * DAY_MS)
        if (message.type === 'counts' && message.counts.lines === 500) void thread.stop().then(resolve)
      }
      const thread = new LogThread({ directory, limits, source }, told, clock)
      thread.run()
    })
    test.notOk(existsSync(segment?.path ?? '/'))
    const again = new LogStore(directory, LIMITS)
    test.equal(again.open.rows.length + again.segments.reduce((sum, { head }) => sum + head.rows, 0), 500)
    again.close()
  },
)

t.test('a clock that is set far ahead, and right again, deletes no line', async (test) => {
  const directory = logFolder(test)
  const store = new LogStore(directory, LIMITS)
  store.append([logRow()], {})
  store.tidy(NOW_MS + DAY_MS, {})
  store.close()
  const options = { directory, limits: { ...LIMITS, age_ms: 30 * DAY_MS }, source: undefined }
  const [ahead, steps] = [manualClock(NOW_MS + 36 * 365 * DAY_MS), manualClock(NOW_MS + DAY_MS)]
  const isThere = () => existsSync(store.segments[0]?.path ?? '/')
  await new LogThread(options, () => undefined, ahead).stop()
  test.equal(isThere(), true, 'it was ahead at the start')
  let offset_ms = 0
  const clock = { ...steps, now_ms: () => steps.now_ms() + offset_ms }
  const thread = new LogThread(options, () => undefined, clock)
  steps.advance(DAY_MS)
  offset_ms = 36 * 365 * DAY_MS
  await thread.stop()
  test.equal(isThere(), true, 'it was set ahead a moment ago')
  const last = new LogThread(options, () => undefined, clock)
  steps.advance(DAY_MS)
  await last.stop()
  test.equal(isThere(), false, 'it has been so for a day')
})
