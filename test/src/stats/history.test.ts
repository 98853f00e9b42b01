import t, { type Test } from 'tap'
import type { HistoryQuery } from '../../../src/api/context.ts'
import { METRICS } from '../../../src/model/metrics.ts'
import { HISTORY_SERIES_POINTS_MAX, HistoryAnswers } from '../../../src/stats/history.ts'
import { ArchiveObjects } from '../../../src/stats/objects.ts'
import { ArchiveReader } from '../../../storage/archive/reader.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { temporaryFolder, writeSeconds } from '../../storage/temporary-archive.ts'
import { namesOf } from './names-fixture.ts'

const S = 1_700_000_000

function query(start: number, end: number, more: Partial<HistoryQuery> = {}): HistoryQuery {
  return { start, end, resolution: undefined, consolidation: 'average', metrics: METRICS, format: 'json', ...more }
}

interface Data {
  readonly id: string
  readonly start: number
  readonly end: number
  readonly resolution: number
  readonly series: Readonly<Record<string, readonly (number | null)[]>>
}

function dataOf(answer: { readonly body: Uint8Array } | undefined): Data {
  return (JSON.parse(Buffer.from(answer?.body ?? []).toString()) as { data: Data }).data
}

function textOf(answer: { readonly body: Uint8Array } | undefined): string {
  return Buffer.from(answer?.body ?? []).toString()
}

/** An archive whose frontend `fe` counts s % 10 in every second but each seventh. */
function begin(t: Test, seconds: number) {
  const directory = temporaryFolder(t)
  const writer = new ArchiveWriter(directory, S)
  writeSeconds(writer, 'fe', seconds, (metric, second) =>
    second % 7 === 0 ? Number.NaN : (second % 10) * (metric + 1),
  )
  const reader = new ArchiveReader(directory, writer.ring.header, writer.ring.slabs)
  const objects = new ArchiveObjects()
  objects.reset(
    [],
    writer.objects().map(({ id, kind, name, backend, slot }) => ({ objectId: id, kind, name, backend, slot })),
  )
  const reals = [
    { ripId: 'r1', name: 'web, 1' },
    { ripId: 'r2', name: 'web 2' },
  ]
  const names = namesOf(
    [
      { id: 'fe', name: 'Shop' },
      { id: 'idle', name: 'No samples' },
    ],
    [{ id: 'be', name: 'B', reals }],
    ['r9'],
  )
  t.teardown(() => writer.close())
  return { writer, names, history: new HistoryAnswers(reader, objects, names, 'node-1', 'n') }
}

t.test('the answer has the shape of the contract', async (t) => {
  const { history } = begin(t, 100)
  const answer = history.frontend('fe', query(S, S + 3, { metrics: ['bytesIn', 'currentSessions'] }))
  t.equal(answer?.contentType, 'application/json')
  t.strictSame(JSON.parse(textOf(answer)), {
    status: 'success',
    message: 'Layer 7 history',
    data: {
      id: 'fe',
      name: 'Shop',
      applianceId: 'node-1',
      start: S,
      end: S + 3,
      resolution: 1,
      consolidation: 'average',
      metrics: ['bytesIn', 'currentSessions'],
      series: {
        bytesIn: [0, 1, 2].map((n) => ((S + n) % 7 === 0 ? null : ((S + n) % 10) * 3)),
        currentSessions: [0, 1, 2].map((n) => ((S + n) % 7 === 0 ? null : (S + n) % 10)),
      },
    },
  })
})

t.test('query(a, c) is query(a, b) and query(b, c)', async (t) => {
  const { history } = begin(t, 400)
  for (const resolution of [1, 10, 60]) {
    for (const consolidation of ['average', 'minimum', 'maximum'] as const) {
      const at = (start: number, end: number) =>
        dataOf(history.frontend('fe', query(start, end, { resolution, consolidation }))).series
      const a = S - (S % 60) + 60
      const [whole, left, right] = [at(a, a + 240), at(a, a + 120), at(a + 120, a + 240)]
      for (const metric of METRICS) t.strictSame(whole[metric], [...(left[metric] ?? []), ...(right[metric] ?? [])])
    }
  }
})

t.test('minimum <= average <= maximum in every bucket, and a filter only leaves out', async (t) => {
  const { history } = begin(t, 400)
  const window = query(S, S + 300, { resolution: 10 })
  const of = (consolidation: HistoryQuery['consolidation']) =>
    dataOf(history.frontend('fe', { ...window, consolidation })).series
  const [low, mean, high] = [of('minimum'), of('average'), of('maximum')]
  for (const metric of METRICS) {
    mean[metric]?.forEach((value, i) => {
      if (!((low[metric]?.[i] ?? 0) <= (value ?? 0) && (value ?? 0) <= (high[metric]?.[i] ?? 0)))
        t.fail(`${metric} ${i}`)
    })
    const only = dataOf(history.frontend('fe', { ...window, metrics: [metric] })).series
    t.strictSame(only, { [metric]: mean[metric] })
  }
})

t.test('edges: only closed buckets, the future dropped, one bucket for start = end', async (t) => {
  const { history, writer } = begin(t, 100)
  const { hwm_s } = writer
  const served = (start: number, end: number, resolution = 1) => {
    const data = dataOf(history.frontend('fe', query(start, end, { resolution })))
    return [data.start, data.end, data.series['bytesIn']?.length]
  }
  t.strictSame(served(hwm_s - 5, hwm_s + 100), [hwm_s - 5, hwm_s, 5])
  t.strictSame(served(hwm_s - 5, hwm_s - 5), [hwm_s - 5, hwm_s - 4, 1])
  t.strictSame(served(hwm_s + 50, hwm_s + 100), [hwm_s + 50, hwm_s + 50, 0])
  const tens = hwm_s - (hwm_s % 10)
  t.strictSame(served(tens - 15, hwm_s, 10), [tens - 20, tens, 2])
})

t.test('objects without samples, real servers, and ids that are not in the configuration', async (t) => {
  const { history } = begin(t, 20)
  t.strictSame(dataOf(history.frontend('idle', query(S, S + 2))).series['bytesIn'], [null, null])
  t.match(dataOf(history.backendReals('be', query(S, S + 1))), {
    id: 'be',
    reals: [{ id: 'r1', series: { bytesIn: [null] } }, { id: 'r2' }],
  })
  t.match(dataOf(history.rip('r1', query(S, S + 1))), [{ backendId: 'be', backendName: 'B', id: 'r1', start: S }])
  t.strictSame(dataOf(history.rip('r9', query(S, S + 1))), [])
  t.equal(history.frontend('be', query(S, S + 1)), undefined)
  t.equal(history.backend('fe', query(S, S + 1)), undefined)
  t.equal(history.backendReals('none', query(S, S + 1)), undefined)
  t.equal(history.rip('none', query(S, S + 1)), undefined)
})

t.test('CSV: a time column, empty for unknown, names quoted', async (t) => {
  const { history } = begin(t, 20)
  const first = S - (S % 7)
  const answer = history.frontend('fe', query(first, first + 2, { format: 'csv', metrics: ['bytesIn'] }))
  t.equal(answer?.contentType, 'text/csv; charset=utf-8')
  t.equal(textOf(answer), `time,bytesIn\r\n${first},\r\n${first + 1},${((first + 1) % 10) * 3}\r\n`)
  const reals = history.backendReals('be', query(S, S + 1, { format: 'csv', metrics: ['bytesIn'] }))
  t.equal(textOf(reals), `time,id,name,bytesIn\r\n${S},r1,"web, 1",\r\n${S},r2,web 2,\r\n`)
  const rip = history.rip('r1', query(S, S + 1, { format: 'csv', metrics: ['bytesIn'] }))
  t.equal(textOf(rip), `time,backendId,backendName,bytesIn\r\n${S},be,B,\r\n`)
})

t.test('closed answers are kept and tagged; a new name is a new answer', async (t) => {
  const { history, names } = begin(t, 20)
  const first = history.frontend('fe', query(S, S + 5))
  t.equal(history.frontend('fe', query(S, S + 5)), first)
  t.not(history.frontend('fe', query(S, S + 6))?.etag, first?.etag)
  history.forget()
  const again = history.frontend('fe', query(S, S + 5))
  t.not(again, first)
  t.equal(again?.etag, first?.etag)
  names.version++
  t.not(history.frontend('fe', query(S, S + 5))?.etag, first?.etag)
})

t.test('an answer is never larger than the cap: a coarser tier, or without the head before all coverage', async (t) => {
  const { history } = begin(t, 20)
  const data = dataOf(history.frontend('fe', query(0, S)))
  t.equal(data.resolution, 3_600)
  t.equal(data.series['bytesIn']?.length, HISTORY_SERIES_POINTS_MAX)
  t.equal(data.end, S - (S % 3_600))
})
