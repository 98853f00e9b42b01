import t, { type Test } from 'tap'
import type { HistoryQuery } from '../../../src/context/figures.ts'
import { CORE_METRICS, METRICS } from '../../../src/model/metrics.ts'
import type { Rendered } from '../../../src/context/rendered.ts'
import { HISTORY_SERIES_POINTS_MAX, HistoryAnswers, type HistoryReader } from '../../../src/stats/history.ts'
import { JsonBuffer } from '../../../src/base/json-buffer.ts'
import { ArchiveObjects } from '../../../src/stats/objects.ts'
import { Series } from '../../../src/stats/series.ts'
import { ArchiveReader } from '../../../storage/archive/reader.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { TRIM_GRACE_S } from '../../../storage/limits.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { writeSeconds } from '../../storage/temporary-archive.ts'
import { namesOf } from './names-fixture.ts'
import type { StorageFault } from '../../../workers/archive/storage-watch.ts'

const S = 1_700_000_000

function query(start: number, end: number, more: Partial<HistoryQuery> = {}): HistoryQuery {
  return { start, end, resolution: undefined, consolidation: 'average', metrics: CORE_METRICS, format: 'json', ...more }
}

interface Data {
  readonly id: string
  readonly start: number
  readonly end: number
  readonly resolution: number
  readonly series: Readonly<Record<string, readonly (number | null)[]>>
}

function dataOf(answer: Rendered<Uint8Array> | undefined): Data {
  return (JSON.parse(whole(answer)) as { data: Data }).data
}

function textOf(answer: { readonly body: Uint8Array } | undefined): string {
  return Buffer.from(answer?.body ?? []).toString()
}

/** The text of an answer, also of one in slices. */
function whole(answer: Rendered<Uint8Array> | undefined): string {
  const slices = answer?.slices?.()
  if (slices === undefined) return textOf(answer)
  const parts: string[] = []
  for (let next = slices.next(); ; next = slices.next()) {
    if (next.done === true) return next.value ?? parts.join('')
    parts.push(Buffer.from(next.value).toString())
  }
}

/** As `writeSeconds`, with one commit per minute: for long archives. */
function writeMinutes(
  writer: ArchiveWriter,
  seconds: number,
  valueOf: (metric: number, second: number) => number,
): void {
  const end = writer.hwm_s + seconds
  const slot = writer.ensure('frontend', 'fe', '')?.slot ?? 0
  for (let second = writer.hwm_s; second < end; second++) {
    writer.ring.beginSecond(second)
    for (let metric = 0; metric < METRICS.length; metric++)
      writer.ring.set(slot, second, metric, valueOf(metric, second))
    if ((second + 1) % 60 === 0 || second + 1 === end) writer.commit(second + 1, true, undefined)
  }
}

/** An archive whose frontend `fe` counts s % 10 in every second except each seventh. */
function begin(t: Test, seconds: number) {
  const directory = temporaryFolder(t)
  const writer = new ArchiveWriter(directory, S)
  writeMinutes(writer, seconds, (metric, second) => (second % 7 === 0 ? Number.NaN : (second % 10) * (metric + 1)))
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
  /** Answers without earlier requests. */
  const fresh = () => new HistoryAnswers(reader, objects, names, 'node-1', 'n', 'Layer 7 history')
  return { writer, names, reader, objects, fresh, history: fresh() }
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

t.test('an archive that cannot store is reported, and the answer has another tag', async (t) => {
  const { reader, objects, names } = begin(t, 100)
  let storage: StorageFault | undefined
  const windows = {
    hwm_s: () => reader.hwm_s(),
    tiers: () => reader.tiers(),
    storage: () => storage,
    readBase: reader.readBase.bind(reader),
    readCoarse: reader.readCoarse.bind(reader),
  }
  const history = new HistoryAnswers(windows, objects, names, 'node-1', 'n', 'Layer 7 history')
  const tags: (string | undefined)[] = []
  const messages = [undefined, false, true, undefined].map((isStoring) => {
    storage =
      isStoring === undefined ? undefined : { reason: 'the disk is full', since_ms: 0, isStoring, isFinal: false }
    const answer = history.frontend('fe', query(S, S + 3))
    tags.push(answer?.etag)
    return (JSON.parse(textOf(answer)) as { message: string }).message
  })
  t.strictSame(messages, [
    'Layer 7 history',
    'Layer 7 history; since 1970-01-01T00:00:00.000Z nothing is stored, only the last five minutes are in memory: the disk is full',
    'Layer 7 history; since 1970-01-01T00:00:00.000Z fewer seconds are kept in full resolution: the disk is full',
    'Layer 7 history',
  ])
  t.equal(new Set(tags).size, 3)
})

t.test('query(a, c) is query(a, b) and query(b, c)', async (t) => {
  const { history } = begin(t, 400)
  for (const resolution of [1, 10, 60]) {
    for (const consolidation of ['average', 'minimum', 'maximum'] as const) {
      const at = (start: number, end: number) =>
        dataOf(history.frontend('fe', query(start, end, { resolution, consolidation }))).series
      const a = S - (S % 60) + 60
      const [all, left, right] = [at(a, a + 240), at(a, a + 120), at(a + 120, a + 240)]
      for (const metric of CORE_METRICS) t.strictSame(all[metric], [...(left[metric] ?? []), ...(right[metric] ?? [])])
    }
  }
})

t.test('minimum <= average <= maximum in every bucket, and a filter only leaves out', async (t) => {
  const { history } = begin(t, 400)
  const window = query(S, S + 300, { resolution: 10 })
  const of = (consolidation: HistoryQuery['consolidation']) =>
    dataOf(history.frontend('fe', { ...window, consolidation })).series
  const [low, mean, high] = [of('minimum'), of('average'), of('maximum')]
  for (const metric of CORE_METRICS) {
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
  t.strictSame(served(hwm_s + 50, hwm_s + 100), [hwm_s + 50, hwm_s + 51, 1], 'the bucket that holds start, open')
  const tens = hwm_s - (hwm_s % 10)
  t.strictSame(served(tens - 15, hwm_s, 10), [tens - 20, tens, 2])
})

t.test('a window without a closed bucket is the one that holds its start: null while it is open', async (t) => {
  const { history, writer, fresh } = begin(t, 100)
  const { hwm_s } = writer
  const open = hwm_s - (hwm_s % 10)
  const tens = (of: HistoryAnswers) => of.frontend('fe', query(open + 3, open + 5, { resolution: 10 }))
  const before = tens(history)
  t.match(dataOf(before), { start: open, end: open + 10, resolution: 10, series: { bytesIn: [null] } })
  t.equal(
    textOf(history.frontend('fe', query(open + 3, open + 5, { resolution: 10, format: 'csv' }))).split('\r\n')[1],
    `${open},,,,`,
  )
  writeMinutes(writer, 120, (metric, second) => second + metric)
  const after = tens(history)
  t.notMatch(dataOf(after).series['bytesIn'], [null], 'closed since')
  t.not(after?.etag, before?.etag)
  t.strictSame(textOf(after), textOf(tens(fresh())))
  t.strictSame(JSON.parse(textOf(history.none(query(S, S + 3)))).data, [])
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
  t.same(answer?.headers, { 'X-Resolution': '1' }, 'rows have no place for it')
  const coarse = history.frontend('fe', query(first, first + 2, { format: 'csv', resolution: 60 }))
  t.same(coarse?.headers, { 'X-Resolution': '60' })
  t.equal(history.frontend('fe', query(first, first + 2))?.headers, undefined, 'JSON has it')
  const reals = history.backendReals('be', query(S, S + 1, { format: 'csv', metrics: ['bytesIn'] }))
  t.equal(textOf(reals), `time,id,name,bytesIn\r\n${S},r1,"web, 1",\r\n${S},r2,web 2,\r\n`)
  const rip = history.rip('r1', query(S, S + 1, { format: 'csv', metrics: ['bytesIn'] }))
  t.equal(textOf(rip), `time,backendId,backendName,bytesIn\r\n${S},be,B,\r\n`)
})

t.test('CSV: a name that a spreadsheet would execute is text; numbers stay numbers', async (t) => {
  const { history, names } = begin(t, 20)
  const found = names.backend('be')
  const named = (name: string) => {
    names.version++
    const reals = (found?.reals ?? []).slice(0, 1).map((real) => ({ ...real, name }))
    Object.assign(names, { backend: () => ({ ...found, reals }) })
    const answer = history.backendReals('be', query(S, S + 1, { format: 'csv', metrics: ['bytesIn'] }))
    return textOf(answer).split('\r\n')[1]?.slice(`${S},r1,`.length)
  }
  t.equal(named('=1+1'), "'=1+1,")
  t.equal(named('@a'), "'@a,")
  t.equal(named('+a'), "'+a,")
  t.equal(named('-2'), "'-2,")
  t.equal(named('\t=a'), "'\t=a,")
  t.equal(named('=HYPERLINK("x","y")'), `"'=HYPERLINK(""x"",""y"")",`)
  t.equal(named('a=b-c@d'), 'a=b-c@d,')
})

t.test('a repeated answer is cached and tagged; a new name or a clock step makes a new answer', async (t) => {
  const { history, names } = begin(t, 20)
  const ask = (end = S + 5) => history.frontend('fe', query(S, end))
  const first = ask()
  t.match(first, { isTransient: true, vary: 'Accept, Accept-Encoding' })
  const text = textOf(first)
  const kept = ask()
  t.notOk(kept?.isTransient)
  t.equal(ask(), kept)
  t.strictSame([textOf(kept), kept?.etag], [text, first?.etag])
  t.not(ask(S + 6)?.etag, first?.etag)
  names.version++
  t.not(ask()?.etag, first?.etag)
  const before = ask()?.etag
  history.forget()
  const again = ask()
  t.match(again, { isTransient: true })
  t.not(again?.etag, before, 'the seconds may have other values now')
})

t.test('an answer is sent again only when its window is over', (t) => {
  const { history, writer } = begin(t, 97)
  const { hwm_s } = writer
  const ofNow = (start: number, end: number, resolution = 1) => {
    const ask = () => history.frontend('fe', query(start, end, { resolution }))
    const first = ask()
    // Requested once, it is overwritten by the next one; compressed, it is not.
    const isOnce = first?.isTransient === true
    t.equal(first?.isOfNow, isOnce && end > hwm_s - (hwm_s % resolution) ? true : first?.isOfNow)
    const [kept, again] = [ask(), ask()]
    t.strictSame([again, textOf(kept)], [kept, textOf(first)])
    return kept?.isOfNow
  }
  t.equal(ofNow(hwm_s - 9, hwm_s), undefined)
  t.equal(ofNow(hwm_s - 9, hwm_s + 1), true)
  t.equal(ofNow(hwm_s - 9, hwm_s), undefined, 'the same bytes, in both kinds of request')
  const tens = hwm_s - (hwm_s % 10)
  t.equal(ofNow(tens - 20, tens, 10), undefined)
  t.equal(ofNow(tens - 20, tens + 1, 10), true, 'the bucket of its last second is open')
  t.end()
})

/** Every kind of query, so that one reuses what was rendered for another. */
function questions(hwm_s: number, random: () => number): HistoryQuery {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
  const span = Math.floor(random() * pick([10, 70, 400, 3_000]))
  const end = hwm_s + 3 - Math.floor(random() * pick([5, 100, 2_000]))
  const [consolidation, format] = [
    pick(['average', 'minimum', 'maximum'] as const),
    pick(['json', 'json', 'csv'] as const),
  ]
  const metrics = pick([
    CORE_METRICS,
    METRICS,
    ['bytesIn', 'currentSessions'],
    ['queue', 'requestRate', 'bytesIn'],
    ['errors'],
  ] as const)
  return query(end - span, end, { resolution: pick([1, 1, 10, 60, 300]), consolidation, format, metrics })
}

t.test('whatever was requested before, an answer is byte for byte that of a new start', async (t) => {
  const { history, writer, fresh } = begin(t, 900)
  let seed = 7
  const random = () => (seed = (seed * 48_271) % 0x7fffffff) / 0x7fffffff
  let wrong = 0
  for (let i = 0; i < 1_500; i++) {
    if (i % 4 === 0)
      writeSeconds(writer, 'fe', 1 + (i % 3), (metric, second) => (second * 7_919 * (metric + 1)) % 10_007)
    // Back by some seconds and by some minutes: their rendered text becomes useless.
    if (i % 400 === 399) writer.stepBack(writer.hwm_s - (i % 800 === 399 ? 70 : 300))
    const asked = questions(writer.hwm_s, random)
    const id = i % 9 === 0 ? 'idle' : 'fe'
    const text = whole(history.frontend(id, asked))
    if (text !== whole(fresh().frontend(id, asked))) wrong++
  }
  t.equal(wrong, 0)
})

t.test('a long answer is sent in slices, with the same bytes as in one piece', async (t) => {
  const { history, fresh, reader, objects } = begin(t, 5_200)
  for (const format of ['json', 'csv'] as const) {
    const long = history.frontend('fe', query(S, S + 5_100, { format }))
    t.equal(long?.body.length, 0)
    t.match(long?.etag, /^"/)
    const sizes: number[] = []
    const slices = long?.slices?.()
    for (let next = slices?.next(); next?.done === false; next = slices?.next()) sizes.push(next.value.length)
    t.ok(sizes.length > 1 && Math.max(...sizes) < 200_000, sizes.join())
    const text = whole(long)
    t.equal(whole(fresh().frontend('fe', query(S, S + 5_100, { format }))), text)
    if (format === 'csv') {
      const rows = (start: number, end: number) => textOf(history.frontend('fe', query(start, end, { format })))
      const [head, tail] = [rows(S, S + 2_600), rows(S + 2_600, S + 5_100)]
      t.ok(text === head + tail.slice(tail.indexOf('\n') + 1))
    } else {
      const series = new Series()
      const window = { tier: 0, step_s: 1, first_s: S, end_s: S + 5_100 }
      series.load(reader, window, 'average', objects.find('frontend', 'fe', ''))
      const arrays = CORE_METRICS.map((name, metric) => {
        const out = new JsonBuffer()
        series.writeJson(metric, out)
        return `"${name}":[${out.take().toString()}]`
      })
      const [skeleton = ''] = textOf(history.frontend('fe', query(S, S + 5_100, { resolution: 60 }))).split('"series":')
      const head = skeleton.replace(/"start":.*"consol/, `"start":${S},"end":${S + 5_100},"resolution":1,"consol`)
      t.ok(text === `${head}"series":{${arrays.join()}}}}`)
    }
  }
})

t.test('a long answer keeps its state from the beginning, and ends early when that is impossible', async (t) => {
  const { history, writer, names } = begin(t, 5_200)
  const start = () => history.frontend('fe', query(S, S + 5_100, { format: 'csv' }))
  const expected = whole(start())
  const slices = start()?.slices?.()
  const parts = [Buffer.from(slices?.next().value ?? '').toString()]
  // Meanwhile others send requests, time passes, names change: all write into the same buffer.
  for (let next = slices?.next(); next?.done === false; next = slices?.next()) {
    parts.push(Buffer.from(next.value).toString())
    writeSeconds(writer, 'fe', 1, () => 1)
    names.version++
    history.frontend('fe', query(S, S + 60))
  }
  t.ok(parts.join('') === expected)
  const cut = start()?.slices?.()
  t.equal(cut?.next().done, false)
  writer.stepBack(writer.hwm_s - 100)
  t.match(cut?.next(), { done: true, value: 'the clock was set back' })
})

t.test('data that left the archive before it was read are not answered as unknown', async (t) => {
  const { reader, objects, names } = begin(t, 5_200)
  let later_s = 0
  const moved: HistoryReader = {
    hwm_s: () => reader.hwm_s() + later_s,
    tiers: () => reader.tiers(),
    readBase: (object, first_s, end_s, out) => reader.readBase(object, first_s, end_s, out),
    readCoarse: (tier, object, first_s, end_s, out) => reader.readCoarse(tier, object, first_s, end_s, out),
  }
  const history = new HistoryAnswers(moved, objects, names, 'node-1', 'n', 'Layer 7 history')
  const start = () => history.frontend('fe', query(S, S + 5_100, { format: 'csv' }))?.slices?.()
  const edge_s = S + 7_200 - reader.hwm_s()
  for (const [passed_s, isCut] of [
    [TRIM_GRACE_S, false],
    [TRIM_GRACE_S + 1, true],
  ] as const) {
    later_s = 0
    history.forget()
    const slices = start()
    t.equal(slices?.next().done, false)
    later_s = edge_s + passed_s
    const end = slices?.next()
    t.match(end, isCut ? { done: true, value: 'a part of the window was removed before it was read' } : { done: false })
  }
})

t.test('an answer never exceeds the cap: a coarser tier, or without the part before all coverage', async (t) => {
  const { history } = begin(t, 20)
  const data = dataOf(history.frontend('fe', query(0, S)))
  t.equal(data.resolution, 3_600)
  t.equal(data.series['bytesIn']?.length, HISTORY_SERIES_POINTS_MAX)
  t.equal(data.end, S - (S % 3_600))
})
