import type { HealthChange } from '../../../workers/archive/messages.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '../../../src/clock.ts'
import { silentLog } from '../../../src/log.ts'
import type { HistoryQuery } from '../../../src/api/figures.ts'
import { METRICS } from '../../../src/model/metrics.ts'
import { createStats, type Stats, StatsService } from '../../../src/stats/stats.ts'
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

/** The parts of the answers that these tests look at. */
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
  return { start, end, resolution: undefined, consolidation: 'average', metrics: METRICS, format: 'json' }
}

function sum(values: readonly (number | null)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0)
}

async function ticks(stats: Stats, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await stats.waitTick()
}

async function untilUp(stats: Stats, up: boolean): Promise<void> {
  for (let i = 0; i < 20 && stats.state().up !== up; i++) await stats.waitTick()
}

interface Fixture {
  readonly haproxy: HaproxyFixture
  readonly health: readonly HealthChange[]
  readonly options: Parameters<typeof createStats>[0]
}

async function prepare(t: Test, kind: 'master-socket' | 'stats-socket' = 'master-socket'): Promise<Fixture> {
  const haproxy = await createHaproxy()
  const directory = mkdtempSync(join(tmpdir(), 'stats-archive-'))
  t.teardown(async () => {
    await haproxy.remove()
    rmSync(directory, { recursive: true, force: true })
  })
  const path = kind === 'master-socket' ? haproxy.masterSocket : haproxy.statsSocket
  const source = { kind, path }
  const health: HealthChange[] = []
  const onHealth = (changes: readonly HealthChange[]) => void health.push(...changes)
  const options = { directory, source, names, onHealth, applianceId: 'node-1', log: silentLog, clock: systemClock }
  return { haproxy, health, options }
}

const UNHEARD = { onHealth: () => undefined }

t.test('N requests are N sessions in history, and their bytes', { skip }, async (t) => {
  const { haproxy, options } = await prepare(t)
  await haproxy.start()
  const stats = await createStats(options)
  const start = Math.floor(Date.now() / 1_000) - 3
  await ticks(stats, 2)
  t.equal(await haproxy.request(60), 60)
  await ticks(stats, 2)
  const frontend = historyOf(stats.history.frontend(FRONTEND_ID, windowSince(start)))
  t.equal(frontend.resolution, 1)
  t.equal(frontend.name, 'Shop')
  t.equal(frontend.applianceId, 'node-1')
  t.equal(sum(frontend.series.sessionRate), 60)
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
  t.strictSame(await stats.check(), [])

  // A restart of the daemon, with traffic while it is away: the counters carry on.
  await stats.close()
  t.equal(await haproxy.request(10), 10)
  const again = await createStats(options)
  await ticks(again, 2)
  t.equal(sum(historyOf(again.history.frontend(FRONTEND_ID, windowSince(start))).series.sessionRate), 70)
  t.strictSame(await again.check(), [])
  await again.close()
})

t.test('a reload invents nothing and loses nothing, old workers included', { skip }, async (t) => {
  const { haproxy, options } = await prepare(t)
  await haproxy.start()
  const stats = await createStats(options)
  const start = Math.floor(Date.now() / 1_000) - 3
  await ticks(stats, 2)
  const release = await haproxy.hold()
  await haproxy.request(20)
  await stats.capture()
  await haproxy.command('reload')
  await haproxy.request(5)
  await ticks(stats, 3)
  await haproxy.request(20)
  await ticks(stats, 2)
  const during = historyOf(stats.history.frontend(FRONTEND_ID, windowSince(start))).series
  t.equal(sum(during.sessionRate), 46, 'the held connection, 20 before, 5 on either worker, 20 after')
  t.equal(during.currentSessions.at(-1), 1, 'the gauge counts the old worker too')
  await release()
  await ticks(stats, 2)
  const { series } = historyOf(stats.history.frontend(FRONTEND_ID, windowSince(start)))
  t.equal(sum(series.sessionRate), 46)
  t.equal(series.currentSessions.at(-1), 0)
  t.strictSame(await stats.check(), [])
  await stats.close()
})

t.test('HAProxy killed: nulls and state down; back: values again', { skip }, async (t) => {
  const { haproxy, options } = await prepare(t)
  const stats = await createStats(options)
  await ticks(stats, 1)
  t.equal(stats.state().up, false)
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
  await ticks(stats, 2)
  const { series } = historyOf(stats.history.frontend(FRONTEND_ID, windowSince(start)))
  t.equal(sum(series.sessionRate), 10)
  t.ok(series.sessionRate.filter((value) => value === null).length >= 4, 'unknown while it was away')
  t.strictSame(await stats.check(), [])
  await stats.close()
})

t.test('the archive thread crashes and is started again', { skip }, async (t) => {
  const { haproxy, options } = await prepare(t, 'stats-socket')
  await haproxy.start()
  const stats = new StatsService(options)
  await stats.opened
  const start = Math.floor(Date.now() / 1_000) - 3
  await ticks(stats, 2)
  await haproxy.request(4)
  await ticks(stats, 2)
  await stats.crashThread()
  t.equal(stats.state().up, false)
  await stats.capture()
  t.match(await stats.check(), [/is just being started again/], 'who asks while there is no thread is answered')
  await haproxy.request(4)
  await untilUp(stats, true)
  await ticks(stats, 2)
  t.equal(sum(historyOf(stats.history.frontend(FRONTEND_ID, windowSince(start))).series.sessionRate), 8)
  t.strictSame(await stats.check(), [])
  await stats.close()
})

t.test('an archive that cannot be opened is a refusal, not a hang', async (t) => {
  const directory = join(tmpdir(), `stats-none-${process.pid}`, '\0')
  const source = { kind: 'master-socket' as const, path: '/nowhere' }
  await t.rejects(
    createStats({ ...UNHEARD, directory, source, names, applianceId: 'node-1', log: silentLog, clock: systemClock }),
  )
})

t.test('a step of the clock that was meant is passed on to the archive thread', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'stats-step-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const source = { kind: 'stats-socket' as const, path: '/nonexistent' }
  const stats = await createStats({
    ...UNHEARD,
    directory,
    source,
    names,
    applianceId: 'node-1',
    log: silentLog,
    clock: systemClock,
  })
  await stats.waitTick()
  stats.clockStepped()
  await stats.waitTick()
  t.strictSame(await stats.check(), [], 'a clock that did not move leaves everything as it is')
  await stats.close()
})
