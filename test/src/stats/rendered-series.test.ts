import t from 'tap'
import { ARCHIVE_TIERS_MAX } from '../../../storage/limits.ts'
import { CONSOLIDATIONS } from '../../../src/model/metrics.ts'
import { JsonBuffer } from '../../../src/base/json-buffer.ts'
import { BLOCK_BUCKETS, METRIC_GROUPS, RenderedSeries } from '../../../src/stats/rendered-series.ts'
import { Series, type SeriesWindow, type WindowReader } from '../../../src/stats/series.ts'
import { METRIC_COUNT } from '../../../storage/archive/tiers.ts'
import type { ReadableObject } from '../../../storage/archive/tier-reader.ts'

const STEP_S = 10
const METRICS = METRIC_COUNT
const [CORE, MORE] = METRIC_GROUPS

/** Values derived from object, metric and bucket; some are unknown, some have decimals. */
function fakeReader() {
  const reads: (readonly [first_s: number, end_s: number])[] = []
  const state = { isComplete: true }
  const value = (id: number, metric: number, second: number) => (second * 7 + metric * 13 + id * 31) % 100_003
  const reader: WindowReader = {
    readBase(object, first_s, end_s, out, columns) {
      reads.push([first_s, end_s])
      const n = end_s - first_s
      for (let i = 0; i < n * columns; i++) {
        const second = first_s + (i % n)
        out[i] = second % 11 === 0 ? Number.NaN : value(object.id, Math.floor(i / n), second)
      }
      return state.isComplete
    },
    readCoarse(_tier, object, first_s, end_s, out) {
      reads.push([first_s, end_s])
      const n = (end_s - first_s) / STEP_S
      out.reset(n)
      for (let i = 0; i < n * out.columns; i++) {
        const second = first_s + (i % n) * STEP_S
        const sum = value(object.id, Math.floor(i / n), second)
        if (second % 70 !== 0) out.add(i, 7, sum, sum % 10, sum % 10_000)
      }
      return state.isComplete
    },
  }
  return { reader, reads, state }
}

function plain(reader: WindowReader, object: ReadableObject | undefined, window: SeriesWindow, metric: number): string {
  const series = new Series()
  const out = new JsonBuffer()
  series.load(reader, window, 'average', object)
  series.writeJson(metric, out)
  return out.take().toString()
}

function fromRendered(
  rendered: RenderedSeries,
  reader: WindowReader,
  object: ReadableObject | undefined,
  window: SeriesWindow,
  closed_s: number,
  metric: number,
): string {
  const out = new JsonBuffer()
  const group = metric < CORE.end ? CORE : MORE
  const track = rendered.track(object, window.tier, 'average', group)
  rendered.load(track, reader, object, window, 'average', closed_s)
  rendered.write(track, metric, window, out)
  return out.take().toString()
}

t.test(
  'every tier and consolidation of every object has its own series, with six tiers and with the maximum',
  async (test) => {
    for (const tiers of [6, ARCHIVE_TIERS_MAX]) {
      const rendered = new RenderedSeries()
      const keys = [0, 1, 2, 3].flatMap((id) =>
        Array.from({ length: tiers }, (_, tier) =>
          CONSOLIDATIONS.flatMap((consolidation) =>
            METRIC_GROUPS.map((group) => rendered.track({ id, slot: id }, tier, consolidation, group).key),
          ),
        ).flat(),
      )
      // A second is the same in every consolidation except the sum.
      const sameAsFirst = 4 * METRIC_GROUPS.length * (CONSOLIDATIONS.length - 2)
      test.equal(new Set(keys).size, keys.length - sameAsFirst)
    }
  },
)

const seconds = (first_s: number, end_s: number): SeriesWindow => ({ tier: 0, step_s: 1, first_s, end_s })
const object = { id: 1, slot: 0 }

t.test('any window, in any order, while time passes and memory is short: as if rendered again', (t) => {
  const { reader } = fakeReader()
  let seed = 3
  const random = (n: number) => (seed = (seed * 48_271) % 0x7fffffff) % n
  for (const limit_bytes of [undefined, 90_000]) {
    const rendered = new RenderedSeries(limit_bytes)
    let closed_s = 100_000
    let wrong = 0
    for (let i = 0; i < 4_000; i++) {
      closed_s += random(3)
      const step_s = random(2) === 0 ? 1 : STEP_S
      const end_s = Math.floor((closed_s - random(3_000)) / step_s) * step_s
      const window = { tier: step_s === 1 ? 0 : 1, step_s, end_s, first_s: end_s - random(500) * step_s }
      const who = random(7) === 0 ? undefined : { id: random(5), slot: 0 }
      const metric = random(METRICS)
      if (fromRendered(rendered, reader, who, window, closed_s, metric) !== plain(reader, who, window, metric)) wrong++
      if (limit_bytes !== undefined && rendered.size_bytes > limit_bytes * 2) t.fail('no bound')
    }
    t.equal(wrong, 0)
  }
  t.end()
})

t.test('a moving window only reads and renders the new seconds', (t) => {
  const { reader, reads } = fakeReader()
  const rendered = new RenderedSeries()
  fromRendered(rendered, reader, object, seconds(40_000, 43_600), 43_600, 0)
  t.strictSame(reads, [[40_000 - (40_000 % BLOCK_BUCKETS), 43_600]])
  for (let n = 1; n <= 300; n++) {
    const before = rendered.rendered
    fromRendered(rendered, reader, object, seconds(40_000 + n, 43_600 + n), 43_600 + n, n % CORE.end)
    if (rendered.rendered - before !== CORE.end) t.fail(`${n}: ${rendered.rendered - before}`)
  }
  t.strictSame(reads.at(-1), [43_899, 43_900])
  const before = reads.length
  fromRendered(rendered, reader, object, seconds(41_234, 42_345), 43_900, 1)
  t.equal(reads.length, before, 'the rendered text suffices for any part of it')
  t.end()
})

t.test('the finest tier is the same in every consolidation; coarser ones are not', (t) => {
  const rendered = new RenderedSeries()
  t.equal(rendered.track(object, 0, 'average', CORE), rendered.track(object, 0, 'maximum', CORE))
  t.not(rendered.track(object, 1, 'average', CORE), rendered.track(object, 1, 'maximum', CORE))
  t.not(rendered.track(object, 0, 'average', CORE), rendered.track({ id: 2, slot: 1 }, 0, 'average', CORE))
  t.end()
})

t.test('limited in bytes: the least recently requested series is dropped first, and its holder can finish', (t) => {
  const { reader } = fakeReader()
  const one = new RenderedSeries()
  fromRendered(one, reader, object, seconds(10_000, 13_600), 13_600, 0)
  const rendered = new RenderedSeries(one.size_bytes * 3.5)
  const load = (id: number) => fromRendered(rendered, reader, { id, slot: 0 }, seconds(10_000, 13_600), 13_600, 0)
  for (const id of [1, 2, 3, 1]) load(id)
  const held = rendered.track({ id: 2, slot: 0 }, 0, 'average', CORE)
  for (const id of [3, 1, 4, 5]) load(id)
  const before = rendered.rendered
  for (const id of [1, 4, 5]) load(id)
  t.equal(rendered.rendered, before)
  t.not(rendered.track({ id: 2, slot: 0 }, 0, 'average', CORE), held)
  const out = new JsonBuffer()
  rendered.load(held, reader, { id: 2, slot: 0 }, seconds(10_000, 13_700), 'average', 13_700)
  rendered.write(held, 3, seconds(10_000, 13_700), out)
  t.equal(out.take().toString(), plain(reader, { id: 2, slot: 0 }, seconds(10_000, 13_700), 3))
  const { size_bytes } = rendered
  rendered.clear()
  t.ok(size_bytes > 0 && rendered.size_bytes === 0)
  t.end()
})

t.test('data beyond the retention are dropped', (t) => {
  const { reader } = fakeReader()
  const rendered = new RenderedSeries()
  for (let end = 50_000; end < 150_000; end += 1_000) {
    fromRendered(rendered, reader, object, seconds(end - 1_000, end), end, 0)
  }
  const track = rendered.track(object, 0, 'average', CORE)
  t.ok(track.blocks.size <= 180, `${track.blocks.size} blocks`)
  t.equal(rendered.size_bytes, track.bytes)
  t.end()
})

t.test('data that could not be read in one piece are written, not kept, and reported', (t) => {
  const { reader, state } = fakeReader()
  const rendered = new RenderedSeries()
  const window = seconds(1_000, 1_050)
  const track = rendered.track(object, 0, 'average', CORE)
  state.isComplete = false
  t.equal(rendered.load(track, reader, object, window, 'average', 1_050), false)
  rendered.write(track, 0, window, new JsonBuffer())
  t.equal(rendered.size_bytes, 0)
  state.isComplete = true
  const again = rendered.track(object, 0, 'average', CORE)
  t.not(again, track)
  t.equal(rendered.load(again, reader, object, window, 'average', 1_050), true)
  t.throws(() => rendered.write(again, 0, seconds(900, 1_200), new JsonBuffer()), /not loaded/)
  t.end()
})

t.test('a long answer keeps its loaded blocks, while newer windows push the oldest blocks out', async (t) => {
  const { reader } = fakeReader()
  const rendered = new RenderedSeries()
  const old = { tier: 0, step_s: 1, first_s: 0, end_s: 10 * BLOCK_BUCKETS }
  const track = rendered.track(object, 0, 'average', CORE)
  rendered.load(track, reader, object, old, 'average', old.end_s)
  for (let block = 10; block < 400; block++) {
    const window = { tier: 0, step_s: 1, first_s: (block - 2) * BLOCK_BUCKETS, end_s: block * BLOCK_BUCKETS }
    const text = fromRendered(rendered, reader, object, window, window.end_s, 1)
    t.equal(text, plain(reader, object, window, 1))
  }
  t.not(rendered.track(object, 0, 'average', CORE), track, 'others continue without them')
  t.ok(rendered.track(object, 0, 'average', CORE).blocks.size <= 180)
  const out = new JsonBuffer()
  rendered.write(track, 2, old, out)
  t.equal(out.take().toString(), plain(reader, object, old, 2))
})
