import t from 'tap'
import type { HistoryQuery } from '../../../src/context/figures.ts'
import { CORE_METRICS as METRICS } from '../../../src/model/metrics.ts'
import { realsOf } from '../../../src/stats/arrangement.ts'
import { HistoryText, type SliceSize } from '../../../src/stats/history-text.ts'
import { JsonBuffer } from '../../../src/base/json-buffer.ts'
import { ArchiveObjects } from '../../../src/stats/objects.ts'
import { RenderedSeries } from '../../../src/stats/rendered-series.ts'
import type { WindowReader } from '../../../src/stats/series.ts'

const S = 1_700_000_000
const reader: WindowReader = {
  readBase(object, first_s, end_s, out) {
    const n = end_s - first_s
    for (let i = 0; i < n * 4; i++) out[i] = ((first_s + (i % n)) * (1 + Math.floor(i / n)) * object.id) % 1_009
    return true
  },
  readCoarse: () => true,
}
const reals = [1, 2, 3].map((id) => ({ ripId: `r${id}`, name: `web "${id}", ü` }))
const arrangement = realsOf({ id: 'be', name: 'B', reals })

/** Every slice of three real servers of a backend, the second of them without samples. */
function slices(seconds: number, format: 'json' | 'csv', size: SliceSize, isKept = () => true) {
  const objects = new ArchiveObjects()
  const place = (id: number) => ({ objectId: id, kind: 'server' as const, name: `r${id}`, backend: 'be', slot: id })
  objects.reset([], [place(1), place(3)])
  const text = new HistoryText(reader, objects, new RenderedSeries(), 'node "1"', 'Layer 7 history')
  const query: HistoryQuery = {
    start: S,
    end: S + seconds,
    resolution: 1,
    consolidation: 'average',
    metrics: METRICS,
    format,
  }
  const window = { tier: 0, step_s: 1, first_s: S, end_s: S + seconds }
  const out = new JsonBuffer()
  const parts: string[] = []
  let isFinal = true
  for (const each of text.write({ arrangement, query, window, closed_s: S + seconds, isKept }, out, size)) {
    isFinal &&= each
    parts.push(out.take().toString())
    out.clear()
  }
  parts.push(out.take().toString())
  return { parts, isFinal, text: parts.join('') }
}

const WHOLE = { numbers: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }

t.test('the bytes do not depend on the size of a portion', (t) => {
  for (const format of ['json', 'csv'] as const) {
    for (const seconds of [0, 1, 300, 9_000]) {
      const { parts, text } = slices(seconds, format, WHOLE)
      t.equal(parts.length, 1)
      for (const size of [
        { numbers: 1, bytes: 1 },
        { numbers: 16_000, bytes: 10_000 },
      ]) {
        const many = slices(seconds, format, size)
        if (seconds >= 300) t.ok(many.parts.length > 1)
        t.ok(many.text === text, `${format} ${seconds}`)
      }
    }
  }
  t.end()
})

t.test('JSON with the served parameters, once for all servers of a group', (t) => {
  const data = (JSON.parse(slices(2, 'json', WHOLE).text) as { data: Record<string, unknown> }).data
  const { reals: listed, ...facts } = data
  t.strictSame(facts, {
    id: 'be',
    name: 'B',
    applianceId: 'node "1"',
    start: S,
    end: S + 2,
    resolution: 1,
    consolidation: 'average',
    metrics: [...METRICS],
  })
  const of = (id: number) => METRICS.map((name, m) => [name, [0, 1].map((i) => ((S + i) * (1 + m) * id) % 1_009)])
  t.strictSame(listed, [
    { id: 'r1', name: 'web "1", ü', series: Object.fromEntries(of(1)) },
    { id: 'r2', name: 'web "2", ü', series: Object.fromEntries(METRICS.map((name) => [name, [null, null]])) },
    { id: 'r3', name: 'web "3", ü', series: Object.fromEntries(of(3)) },
  ])
  t.end()
})

t.test('an answer whose data left the archive before it was read is not final', (t) => {
  for (const format of ['json', 'csv'] as const) {
    t.equal(slices(100, format, WHOLE, () => false).isFinal, false)
    t.equal(slices(100, format, WHOLE).isFinal, true)
  }
  t.end()
})
