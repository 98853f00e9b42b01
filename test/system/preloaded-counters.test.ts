import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../fixtures/folder.ts'
import { Daemon } from '../fixtures/daemon.ts'
import { until, untilHolds } from '../fixtures/until.ts'
import { freePort } from '../fixtures/traffic.ts'
import { ask, plainHaproxy } from './plain-haproxy.ts'
import { countingOrigin, type Counted, startLoad } from './streaming-load.ts'

const version = Number(/version (\d+)\./.exec(execFileSync('haproxy', ['-v'], { encoding: 'utf8' }))?.[1])
const skip = version >= 3 ? false : 'counters are loaded from a file since HAProxy 3.0'

/**
 * An observed HAProxy whose counters are dumped before a reload and loaded by the next worker, as its manual describes.
 */
async function site(test: Test) {
  const folder = temporaryFolder(test, 'counters')
  const statsFile = join(folder, 'stats-file')
  writeFileSync(statsFile, '')
  const origin = await countingOrigin(test)
  const port = await freePort()
  const proxies =
    'defaults\n  mode tcp\n  timeout connect 2s\n  timeout client 30s\n  timeout server 30s\n' +
    `frontend fe\n  guid fe\n  bind 127.0.0.1:${port}\n  default_backend be\n` +
    `backend be\n  guid be\n  server s 127.0.0.1:${origin.port} guid be-s\n`
  const haproxy = plainHaproxy(test, proxies, `level admin\n  stats-file ${statsFile}`)
  await haproxy.start()
  const daemon = new Daemon(temporaryFolder(test, 'observer'), ['--observe', haproxy.masterSocket])
  test.teardown(() => daemon.end())
  await daemon.start()
  await daemon.login()
  const from = Math.floor(Date.now() / 1000) - 5
  const path = `/${daemon.node}/layer7proxy/stats/frontends`
  const [{ id }] = await until(
    'the frontend',
    () => daemon.data('GET', path),
    (list) => list.length === 1,
  )
  const reload = async (): Promise<void> => {
    writeFileSync(statsFile, await ask(haproxy.masterSocket, '@1 dump stats-file'))
    await haproxy.reload()
  }
  const archived = async (): Promise<Counted> => {
    const to = Math.floor(Date.now() / 1000)
    const { series } = await daemon.data('GET', `${path}/${id}/history?start=${from}&end=${to}&resolution=1`)
    const sum = (values: readonly (number | null)[]) => values.reduce<number>((all, value) => all + (value ?? 0), 0)
    return {
      connections: sum(series.sessionRate),
      received_bytes: sum(series.bytesIn),
      sent_bytes: sum(series.bytesOut),
    }
  }
  /** After the next tick but one, all counts are in the archive. */
  const settled = () => sleep(2_200)
  /** The same, and on a busy machine some ticks later; a `settled` afterwards shows whether there is too much. */
  const counted = async () => {
    const isAll = (now: Counted) =>
      now.connections >= origin.connections &&
      now.received_bytes >= origin.received_bytes &&
      now.sent_bytes >= origin.sent_bytes
    await until('what the origin has counted', archived, isAll)
    await settled()
  }
  return { haproxy, origin, port, reload, archived, settled, counted }
}

async function connections(port: number, count: number): Promise<void> {
  const load = startLoad(port, { perSecond: count * 10, streams: 0 })
  await untilHolds(() => load.counted.connections >= count)
  await load.stop()
}

// Run alone, the file has its own deadline.
t.setTimeout(1_800_000)

t.test('counters that a new worker loads are not counted again', { skip, timeout: 1_800_000 }, async (test) => {
  const { haproxy, origin, port, reload, archived, counted } = await site(test)
  for (let round = 1; round <= 3; round++) {
    await connections(port, 40)
    await counted()
    await reload()
    const { connections: truth } = origin
    const stot = /^fe,FRONTEND,(?:[^,]*,){5}(\d+),/m.exec(await ask(haproxy.statsSocket, 'show stat'))?.[1]
    test.equal(Number(stot), truth, 'the new worker did load them')
    await connections(port, 10)
    await counted()
    const { connections: sessions, received_bytes, sent_bytes } = await archived()
    test.same(
      { sessions, received_bytes, sent_bytes },
      { sessions: origin.connections, received_bytes: origin.received_bytes, sent_bytes: origin.sent_bytes },
    )
  }
})

t.test('nothing is invented under traffic', { skip, timeout: 1_800_000 }, async (test) => {
  const { origin, port, reload, archived, settled } = await site(test)
  const load = startLoad(port, { perSecond: 100, streams: 5 })
  for (let round = 0; round < 4; round++) {
    await sleep(3_000)
    await reload()
  }
  await sleep(1_000)
  await load.stop()
  await settled()
  const found = await archived()
  for (const figure of ['connections', 'received_bytes', 'sent_bytes'] as const) {
    test.comment(`${figure}: origin ${origin[figure]}, archive ${found[figure]}`)
    test.ok(found[figure] <= origin[figure], figure)
  }
  // Loaded figures would have been added four times.
  test.ok(found.connections > origin.connections * 0.8)
})
