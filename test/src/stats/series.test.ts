import t from 'tap'
import { JsonBuffer } from '../../../src/base/json-buffer.ts'
import { Series, type WindowReader } from '../../../src/stats/series.ts'

const reader: WindowReader = {
  readBase: (_object, first_s, end_s, out) => {
    for (let i = 0; i < (end_s - first_s) * 4; i++) out[i] = i % 3 === 0 ? Number.NaN : i
    return true
  },
  readCoarse: (_tier, _object, _first_s, _end_s, out) => {
    out.reset(2)
    for (let metric = 0; metric < 4; metric++) out.add(metric * 2, 4, 10, 1, 5)
    return true
  },
}
const object = { id: 1, slot: 0 }
const window = (tier: number, step_s: number) => ({ tier, step_s, first_s: 0, end_s: step_s * 2 })

function json(series: Series): string {
  const out = new JsonBuffer()
  series.writeJson(1, out)
  return Buffer.from(out.take()).toString()
}

t.test('base values as they are, unknown as null', async (t) => {
  const series = new Series()
  series.load(reader, window(0, 1), 'maximum', object)
  t.strictSame([series.length, json(series)], [2, '2,null'])
})

t.test('average over the known seconds; minimum and maximum of single seconds', async (t) => {
  const series = new Series()
  for (const [consolidation, text] of [
    ['average', '2.5,null'],
    ['minimum', '1,null'],
    ['maximum', '5,null'],
    ['sum', '10,null'],
  ] as const) {
    series.load(reader, window(1, 10), consolidation, object)
    t.equal(json(series), text)
  }
})

t.test('the sum counts the known seconds, also where one value covers two of them', async (t) => {
  const series = new Series()
  const slow = { ...reader, step_s: 2 }
  series.load(slow, window(1, 10), 'sum', object)
  t.equal(json(series), '20,null')
  series.load(slow, window(0, 1), 'sum', object)
  t.equal(json(series), '4,null')
  series.load(slow, window(0, 1), 'average', object)
  t.equal(json(series), '2,null')
})

t.test('an object without samples is unknown, an empty window is empty', async (t) => {
  const series = new Series()
  series.load(reader, window(0, 1), 'average', undefined)
  t.equal(json(series), 'null,null')
  series.load(reader, { tier: 0, step_s: 1, first_s: 5, end_s: 5 }, 'average', object)
  t.strictSame([json(series), series.length, series.valueAt(0, 0)], ['', 0, Number.NaN])
})
