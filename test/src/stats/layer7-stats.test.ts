import type { HealthChange } from '../../../workers/archive/messages.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { ARCHIVE_HEARTBEAT_S } from '../../../storage/limits.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import { parseShowProc } from '../../../src/drivers/haproxy/cli.ts'
import type { HistoryQuery } from '../../../src/context/figures.ts'
import { CORE_METRICS } from '../../../src/model/metrics.ts'
import { ArchiveThreadKeeper } from '../../../src/stats/archive-thread.ts'
import { type StartArchives, startArchives } from '../../../src/stats/start-archives.ts'
import { Layer7Stats, type Layer7StatsOptions } from '../../../src/stats/layer7-stats.ts'
import { hang } from '../../fixtures/hang.ts'
import { killIfAlive } from '../../fixtures/kill.ts'
import { namesOf } from './names-fixture.ts'
import {
  BACKEND_ID,
  BODY_BYTES,
  createHaproxy,
  FRONTEND_ID,
  type HaproxyFixture,
  REAL_IDS,
  skip,
} from './real-haproxy.ts'

const names = namesOf(
  [{ id: FRONTEND_ID, name: 'Shop' }],
  [{ id: BACKEND_ID, name: 'Shop servers', reals: REAL_IDS.map((ripId, i) => ({ ripId, name: `web ${i}` })) }],
  ['lonely'],
)

type Values = readonly (number | null)[]

/** The parts of the answers that these tests use. */
interface HistoryData {
  readonly name: string
  readonly backendId: string
  readonly applianceId: string
  readonly resolution: number
  readonly start: number
  readonly end: number
  readonly series: Readonly<Record<'currentSessions' | 'sessionRate' | 'bytesIn' | 'bytesOut', Values>>
  readonly reals: readonly HistoryData[]
}

interface LiveObject {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly totalSessions: number | null
  readonly backendName: string
}

interface LiveData extends LiveObject {
  readonly frontends: readonly LiveObject[]
  readonly backends: readonly LiveObject[]
  readonly reals: readonly LiveObject[]
}

interface Answer<Data> {
  readonly message: string
  readonly data: Data
}

function parse(answer: { readonly body: Uint8Array } | undefined): unknown {
  return JSON.parse(Buffer.from(answer?.body ?? new Uint8Array()).toString())
}

function historyOf(answer: { readonly body: Uint8Array } | undefined): HistoryData {
  return (parse(answer) as Answer<HistoryData>).data
}

function liveOf(answer: { readonly body: Uint8Array } | undefined): Answer<LiveData> {
  return parse(answer) as Answer<LiveData>
}

function windowSince(start: number): HistoryQuery {
  const end = Math.floor(Date.now() / 1_000) + 5
  return { start, end, resolution: undefined, consolidation: 'average', metrics: CORE_METRICS, format: 'json' }
}

function sum(values: readonly (number | null)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0)
}

/** Layer 7 with its archive thread. */
async function opened(options: Layer7StatsOptions, start?: StartArchives) {
  const stats = new Layer7Stats(options)
  return { stats, archives: await ArchiveThreadKeeper.open({ layer7: stats }, silentLog, systemClock, start) }
}

async function ticks(stats: Layer7Stats, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await stats.waitTick()
}

const sessionsSince = (stats: Layer7Stats, start: number) => () =>
  sum(historyOf(stats.history.frontend(FRONTEND_ID, windowSince(start))).series.sessionRate)

/** Returns the value once it is as wanted: after a late poll on a slow machine, the next ones catch up. */
async function settled<Value>(stats: Layer7Stats, wanted: Value, value: () => Value): Promise<Value> {
  for (let i = 0; i < 30 && value() !== wanted; i++) await stats.waitTick()
  return value()
}

/**
 * Compares the sessions of an archive that was away for a moment. On a machine where that took longer than the longest
 * interval, the archive reports it and does not spread the counts.
 */
async function carriedOn(t: Test, stats: Layer7Stats, start: number, wanted: number): Promise<void> {
  const counted = await settled(stats, wanted, sessionsSince(stats, start))
  const { sessionRate } = historyOf(stats.history.frontend(FRONTEND_ID, windowSince(start))).series
  const known = sessionRate.flatMap((value, second) => (value === null ? [] : [second]))
  const away = sessionRate.slice(known[0], known.at(-1)).filter((value) => value === null).length
  if (away <= ARCHIVE_HEARTBEAT_S) t.equal(counted, wanted)
  else t.ok(counted < wanted, `${counted} sessions, ${away} seconds away`)
}

async function untilUp(stats: Layer7Stats, up: boolean): Promise<void> {
  for (let i = 0; i < 20 && stats.state().up !== up; i++) await stats.waitTick()
}

interface Fixture {
  readonly haproxy: HaproxyFixture
  readonly health: readonly HealthChange[]
  readonly options: Layer7StatsOptions
}

async function prepare(t: Test, kind: 'master-socket' | 'stats-socket' = 'master-socket'): Promise<Fixture> {
  const haproxy = await createHaproxy()
  const directory = mkdtempSync(join(tmpdir(), 'stats-archive-'))
  t.teardown(async () => {
    await haproxy.remove()
    rmSync(directory, { recursive: true, force: true })
  })
  const path = kind === 'master-socket' ? haproxy.masterSocket : haproxy.statsSocket
  const archive = { directory, source: { kind, path } }
  const health: HealthChange[] = []
  const onHealth = (changes: readonly HealthChange[]) => void health.push(...changes)
  const options = { archive, names, onHealth, applianceId: 'node-1', log: silentLog, clock: systemClock }
  return { haproxy, health, options }
}

const UNHEARD = {
  names,
  onHealth: () => undefined,
  applianceId: 'node-1',
  log: silentLog,
  clock: systemClock,
}

t.test('N requests are N sessions in history, and their bytes', { skip }, async (t) => {
  const { haproxy, options } = await prepare(t)
  await haproxy.start()
  const { stats, archives } = await opened(options)
  const start = Math.floor(Date.now() / 1_000) - 3
  await ticks(stats, 2)
  t.equal(await haproxy.request(60), 60)
  t.equal(await settled(stats, 60, sessionsSince(stats, start)), 60)
  const frontend = historyOf(stats.history.frontend(FRONTEND_ID, windowSince(start)))
  t.equal(frontend.resolution, 1)
  t.equal(frontend.name, 'Shop')
  t.equal(frontend.applianceId, 'node-1')
  t.ok(sum(frontend.series.bytesOut) >= 60 * BODY_BYTES)
  t.equal(frontend.series.sessionRate.length, frontend.end - frontend.start)
  const backend = historyOf(stats.history.backend(BACKEND_ID, windowSince(start)))
  t.equal(sum(backend.series.sessionRate), 60)
  const { reals } = historyOf(stats.history.backendReals(BACKEND_ID, windowSince(start)))
  t.strictSame(
    reals.map((real) => sum(real.series.sessionRate)),
    [30, 30],
  )
  const rip = (parse(stats.history.rip(REAL_IDS[0], windowSince(start))) as Answer<readonly HistoryData[]>).data
  t.strictSame(
    rip.map((entry) => [entry.backendId, sum(entry.series.sessionRate)]),
    [[BACKEND_ID, 30]],
  )
  t.match(parse(stats.history.rip('lonely', windowSince(start))), { data: [] })
  t.equal(stats.history.rip('nobody', windowSince(start)), undefined)

  await settled(stats, 'OPEN', () => liveOf(stats.live.render({ kind: 'all' })).data.frontends[0]?.status)
  const live = liveOf(stats.live.render({ kind: 'all' })).data
  t.strictSame(
    [live.frontends.length, live.backends.length, live.reals.length],
    [1, 1, 2],
    'the fallback is no real server',
  )
  t.strictSame(
    [live.frontends[0]?.id, live.frontends[0]?.totalSessions, live.frontends[0]?.status],
    [FRONTEND_ID, 60, 'OPEN'],
  )
  t.strictSame([live.reals[0]?.backendName, live.reals[0]?.totalSessions], ['Shop servers', 30])
  t.strictSame(await archives.check(), [])

  // A restart of the daemon, with traffic while it is away: the counters continue.
  await archives.close()
  t.equal(await haproxy.request(10), 10)
  const { stats: again, archives: reopened } = await opened(options)
  await carriedOn(t, again, start, 70)
  t.strictSame(await reopened.check(), [])
  await reopened.close()
})

t.test('a reload invents nothing and loses nothing, old workers included', { skip }, async (t) => {
  const { haproxy, options } = await prepare(t)
  await haproxy.start()
  const { stats, archives } = await opened(options)
  const start = Math.floor(Date.now() / 1_000) - 3
  await ticks(stats, 2)
  const release = await haproxy.hold()
  await haproxy.request(20)
  await archives.capture()
  await haproxy.command('reload')
  await haproxy.request(5)
  await ticks(stats, 3)
  await haproxy.request(20)
  await ticks(stats, 2)
  const counted = await settled(stats, 46, sessionsSince(stats, start))
  t.equal(counted, 46, 'the held connection, 20 before, 5 on either worker, 20 after')
  const during = historyOf(stats.history.frontend(FRONTEND_ID, windowSince(start))).series
  t.equal(during.currentSessions.at(-1), 1, 'the gauge counts the old worker too')
  const [old] = parseShowProc(await haproxy.command('show proc'))?.oldWorkers ?? []
  const pid = old?.pid ?? 0
  await hang(pid)
  t.teardown(() => killIfAlive(pid))
  await ticks(stats, 3)
  t.equal(stats.frontendSessions([FRONTEND_ID]), 1, 'and so it does while that is too busy to answer')
  process.kill(pid, 'SIGCONT')
  await release()
  const open = () => historyOf(stats.history.frontend(FRONTEND_ID, windowSince(start))).series.currentSessions.at(-1)
  t.equal(await settled(stats, 0, open), 0)
  t.equal(sessionsSince(stats, start)(), 46)
  t.strictSame(await archives.check(), [])
  await archives.close()
})

t.test('HAProxy killed: nulls and state down; back: values again', { skip }, async (t) => {
  const { haproxy, options } = await prepare(t)
  const { stats, archives } = await opened(options)
  await ticks(stats, 1)
  t.equal(stats.state().up, false)
  t.equal(stats.frontendSessions([FRONTEND_ID]), undefined)
  t.match(stats.state().reason, /socket/)
  const unknown = liveOf(stats.live.render({ kind: 'frontend', id: FRONTEND_ID }))
  t.match(unknown.message, /has not answered since .*socket does not exist/)
  t.strictSame([unknown.data.name, unknown.data.status, unknown.data.totalSessions], ['Shop', 'UNKNOWN', null])
  await haproxy.start()
  await untilUp(stats, true)
  const start = Math.floor(Date.now() / 1_000)
  await haproxy.request(7)
  await ticks(stats, 2)
  await haproxy.kill()
  await untilUp(stats, false)
  await ticks(stats, 7)
  await haproxy.start()
  await untilUp(stats, true)
  await haproxy.request(3)
  t.equal(await settled(stats, 10, sessionsSince(stats, start)), 10)
  const { series } = historyOf(stats.history.frontend(FRONTEND_ID, windowSince(start)))
  t.ok(series.sessionRate.filter((value) => value === null).length >= 4, 'unknown while it was away')
  t.strictSame(await archives.check(), [])
  await archives.close()
})

t.test('the archive thread crashes and is restarted', { skip }, async (t) => {
  const { haproxy, options } = await prepare(t, 'stats-socket')
  await haproxy.start()
  const workers: Worker[] = []
  const { stats, archives } = await opened(options, (given) => {
    const worker = startArchives(given)
    workers.push(worker)
    return worker
  })
  const start = Math.floor(Date.now() / 1_000) - 3
  await ticks(stats, 2)
  await haproxy.request(4)
  await ticks(stats, 2)
  await workers[0]?.terminate()
  t.equal(stats.state().up, false)
  await archives.capture()
  t.match(await archives.check(), [/is being restarted/], 'who asks while there is no thread is answered')
  await haproxy.request(4)
  await untilUp(stats, true)
  await carriedOn(t, stats, start, 8)
  t.strictSame(await archives.check(), [])
  await archives.close()
})

t.test('an archive that cannot be opened is a refusal, not a hang', async (t) => {
  const directory = join(tmpdir(), `stats-none-${process.pid}`, '\0')
  const source = { kind: 'master-socket' as const, path: '/nowhere' }
  await t.rejects(opened({ ...UNHEARD, archive: { directory, source } }), /could not be opened/)
})

t.test('an intended clock step is passed on to the archive thread', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'stats-step-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const source = { kind: 'stats-socket' as const, path: '/nonexistent' }
  const { stats, archives } = await opened({ ...UNHEARD, archive: { directory, source } })
  await stats.waitTick()
  archives.clockStepped()
  await stats.waitTick()
  t.strictSame(await archives.check(), [], 'a clock that did not move changes nothing')
  await archives.close()
})
