/** Parameters of a query beside its window: a number of points, metrics beyond the four, several objects. */
import t, { type Test } from 'tap'
import { ArchiveReader } from '../../storage/archive/reader.ts'
import { METRIC_COUNT } from '../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../storage/archive/writer.ts'
import type { HistoryQuery } from '../../src/context/figures.ts'
import type { Rendered } from '../../src/context/rendered.ts'
import { CORE_METRICS, METRICS, type Metric } from '../../src/model/metrics.ts'
import { HistoryAnswers } from '../../src/stats/history.ts'
import { ArchiveObjects } from '../../src/stats/objects.ts'
import { temporaryFolder } from '../fixtures/folder.ts'

const S = 1_700_000_000
const LIVED_S = 2_400
const BACKENDS = ['b1', 'b2'].map((id) => ({ id, name: `Backend ${id}`, reals: [{ ripId: 'r1', name: 'web' }] }))
const FRONTENDS = ['f1', 'f2'].map((id) => ({ id, name: `Frontend ${id}` }))

/** Value of object number `n`: unknown in every ninth second. */
const valueOf = (n: number, metric: number, second: number) =>
  second % 9 === 4 ? Number.NaN : (second % 50) * (metric + 1) + n

function begin(test: Test) {
  const directory = temporaryFolder(test)
  const writer = new ArchiveWriter(directory, S)
  const kept = [
    ...FRONTENDS.map(({ id }) => writer.ensure('frontend', id, '')),
    ...BACKENDS.map(({ id }) => writer.ensure('server', 'r1', id)),
  ]
  for (let second = writer.hwm_s; second < S + LIVED_S; second++) {
    writer.ring.beginSecond(second)
    for (const [n, object] of kept.entries()) {
      for (let metric = 0; metric < METRIC_COUNT; metric++)
        writer.ring.set(object?.slot ?? 0, second, metric, valueOf(n, metric, second))
    }
    if (second % 60 === 59 || second + 1 === S + LIVED_S) writer.commit(second + 1, true, undefined)
  }
  const reader = new ArchiveReader(directory, writer.ring.header, writer.ring.slabs)
  const objects = new ArchiveObjects()
  const places = writer.objects().map(({ id, slot, ...object }) => ({ objectId: id, slot, ...object }))
  objects.reset([], places)
  const names = {
    version: 1,
    frontends: () => FRONTENDS,
    backends: () => BACKENDS,
    frontend: (id: string) => FRONTENDS.find((frontend) => frontend.id === id),
    backend: (id: string) => BACKENDS.find((backend) => backend.id === id),
    backendsOfRip: (id: string) => (id === 'r1' ? BACKENDS : id === 'r2' ? [] : undefined),
  }
  test.teardown(() => writer.close())
  return new HistoryAnswers(reader, objects, names, 'node-1', 'n', 'Layer 7 history')
}

function query(start: number, end: number, more: Partial<HistoryQuery> = {}): HistoryQuery {
  return { start, end, resolution: undefined, consolidation: 'average', metrics: CORE_METRICS, format: 'json', ...more }
}

function textOf(answer: Rendered | undefined): string {
  const slices = answer?.slices?.()
  if (slices === undefined) return Buffer.from(answer?.body ?? '').toString()
  const parts: string[] = []
  for (let next = slices.next(); ; next = slices.next()) {
    if (next.done === true) return next.value ?? parts.join('')
    parts.push(Buffer.from(next.value).toString())
  }
}

interface Data {
  readonly start: number
  readonly end: number
  readonly resolution: number
  readonly series: Readonly<Record<string, readonly (number | null)[]>>
}
const dataOf = (answer: Rendered | undefined) => (JSON.parse(textOf(answer)) as { data: Data }).data

t.test('points selects the finest resolution with at most so many', async (test) => {
  const history = begin(test)
  const served = (points: number, span_s = 1_200) => {
    const { resolution, start, end } = dataOf(history.frontend('f1', query(S, S + span_s, { points })))
    return [resolution, (end - start) / resolution]
  }
  test.strictSame(served(1_200), [1, 1_200])
  test.strictSame(served(1_199), [10, 120])
  test.strictSame(served(120), [10, 120])
  // A window that does not begin with a minute has a partial one at each end: 1,700,000,000 is 20 s past one.
  test.strictSame(served(119), [60, 21])
  test.strictSame(served(21), [60, 21])
  test.strictSame(served(20), [300, 5])
  test.strictSame(served(4), [3_600, 1], 'the hour is not over: unknown')
  test.strictSame(served(1), [3_600, 1])
  test.strictSame(served(2_400, 100_000), [1, 2_400], 'future seconds have no points')
  test.strictSame(
    dataOf(history.frontend('f1', query(S, S + 1_200, { points: 120 }))),
    dataOf(history.frontend('f1', query(S, S + 1_200, { resolution: 10 }))),
    'the same answer as by resolution',
  )
})

t.test('the coarsest resolution is served where even that has more points', async (test) => {
  const history = begin(test)
  const { resolution, start, end, series } = dataOf(
    history.frontend('f1', query(S - 400 * 3_600, S + 10, { points: 1 })),
  )
  test.equal(resolution, 3_600)
  test.ok((end - start) / resolution > 390)
  test.equal(series['bytesIn']?.length, (end - start) / resolution)
})

t.test('all metrics, of young and old windows, in any order, beside earlier rendered ones', async (test) => {
  const history = begin(test)
  const orders: readonly (readonly Metric[])[] = [METRICS, METRICS.toReversed(), ['errors'], ['queue', 'bytesIn']]
  for (const [start, end] of [
    [S + LIVED_S - 100, S + LIVED_S],
    [S + 100, S + 700],
  ] as const) {
    for (const metrics of [CORE_METRICS, ...orders, CORE_METRICS]) {
      const { series } = dataOf(history.frontend('f2', query(start, end, { metrics })))
      test.strictSame(Object.keys(series), metrics)
      for (const metric of metrics) {
        const values = Array.from({ length: end - start }, (_, i) => valueOf(1, METRICS.indexOf(metric), start + i))
        test.strictSame(
          series[metric],
          values.map((value) => (Number.isNaN(value) ? null : value)),
          metric,
        )
      }
    }
  }
  const csv = textOf(history.frontend('f1', query(S + 1, S + 2, { metrics: ['totalTime', 'bytesIn'], format: 'csv' })))
  test.equal(csv, `time,totalTime,bytesIn\r\n${S + 1},${valueOf(0, 14, S + 1)},${valueOf(0, 2, S + 1)}\r\n`)
})

t.test('a long answer of all metrics is sent in slices, with the values of its parts', async (test) => {
  const history = begin(test)
  const all = query(S, S + LIVED_S, { metrics: METRICS })
  const long = history.frontend('f1', all)
  test.equal(long?.body.length, 0)
  const { series } = dataOf(long)
  for (const metric of METRICS) {
    const parts = [S, S + 600, S + 1_200, S + 1_800].flatMap(
      (at) => dataOf(history.frontend('f1', query(at, at + 600, { metrics: [metric] }))).series[metric] ?? [],
    )
    test.strictSame(series[metric], parts, metric)
  }
  const rows = textOf(history.frontend('f1', { ...all, format: 'csv' }))
    .trim()
    .split('\r\n')
  test.equal(rows.length, LIVED_S + 1)
  test.equal(rows.at(-1), `${S + LIVED_S - 1},${METRICS.map((metric) => series[metric]?.at(-1) ?? '').join()}`)
})

t.test('several objects share one window, in the order of their ids', async (test) => {
  const history = begin(test)
  const asked = query(S, S + 2, { metrics: ['errors'] })
  const served = { applianceId: 'node-1', start: S, end: S + 2, resolution: 1, consolidation: 'average' }
  const series = (n: number) => ({ errors: [S, S + 1].map((second) => valueOf(n, 10, second)) })
  test.strictSame(dataOf(history.several('frontend', ['f2', 'f1'], asked)), {
    ...served,
    metrics: ['errors'],
    frontends: [
      { id: 'f2', name: 'Frontend f2', series: series(1) },
      { id: 'f1', name: 'Frontend f1', series: series(0) },
    ],
  })
  test.match(dataOf(history.several('server', ['r2', 'r1'], asked)), {
    reals: [
      { backendId: 'b1', backendName: 'Backend b1', id: 'r1', name: 'web', series: series(2) },
      { backendId: 'b2', id: 'r1', series: series(3) },
    ],
  })
  test.match(dataOf(history.several('backend', ['b1'], asked)), {
    backends: [{ id: 'b1', series: { errors: [null, null] } }],
  })
  test.equal(
    textOf(history.several('server', ['r1'], { ...asked, end: S + 1, format: 'csv' })),
    `time,backendId,backendName,id,name,errors\r\n${S},b1,Backend b1,r1,web,${valueOf(2, 10, S)}\r\n${S},b2,Backend b2,r1,web,${valueOf(3, 10, S)}\r\n`,
  )
  const tags = [['f1', 'f2'], ['f2', 'f1'], ['f1']].map((ids) => history.several('frontend', ids, asked)?.etag)
  test.equal(new Set(tags).size, 3)
  test.strictSame(
    [history.kindsOf('f1'), history.kindsOf('b1'), history.kindsOf('r2'), history.kindsOf('no')],
    [['frontend'], ['backend'], ['server'], []],
  )
})

t.test('an answer of many metrics has a lower limit of points', async (test) => {
  const history = begin(test)
  const ids = Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? 'f1' : 'f2'))
  const resolution = (metrics: readonly Metric[], span_s: number) =>
    dataOf(history.several('frontend', ids, query(S, S + span_s, { metrics }))).resolution
  test.equal(resolution(CORE_METRICS, LIVED_S), 1, '50 times 2,400 points of four values')
  test.equal(resolution(METRICS, LIVED_S), 10, 'of fifteen it would be more than 400,000 of four')
  test.equal(resolution(METRICS, 2_000), 1)
})
