import t from 'tap'
import { Points } from '../../../storage/archive/consolidate.ts'
import { scaledReader } from '../../../src/stats/scaled-reader.ts'

const asked: unknown[] = []
const reader = {
  hwm_s: () => 500,
  tiers: () => [{ name: 't0', step_s: 1, rows: 3_600, points: 120, floor_s: 7 }],
  readBase(_object: object, first_s: number, end_s: number, out: Float64Array) {
    asked.push([first_s, end_s])
    const n = end_s - first_s
    for (let i = 0; i < n * 4; i++) out[i] = i === 1 ? Number.NaN : 3
    return true
  },
  readCoarse(_tier: number, _object: object, first_s: number, end_s: number, out: Points) {
    asked.push([first_s, end_s])
    out.reset(1)
    for (let metric = 0; metric < 4; metric++) out.add(metric, 5, 10, 1, 4)
    return false
  },
}
const object = { id: 1, slot: 0 }

t.test('times are scaled; counts are given per second, the gauge unchanged', (t) => {
  const scaled = scaledReader(reader, 2)
  t.equal(scaled.hwm_s(), 1_000)
  t.match(scaled.tiers(), [{ step_s: 2, rows: 3_600, floor_s: 14 }])
  const out = new Float64Array(8)
  t.equal(scaled.readBase(object, 100, 104, out, 4), true)
  t.strictSame([...out], [3, Number.NaN, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5])
  const points = new Points()
  t.equal(scaled.readCoarse(1, object, 100, 110, points), false)
  t.strictSame([...points.sum.subarray(0, 4)], [10, 5, 5, 5])
  t.strictSame([...points.maximum.subarray(0, 4)], [4, 2, 2, 2])
  t.strictSame([...points.count.subarray(0, 4)], [5, 5, 5, 5])
  t.strictSame(asked, [
    [50, 52],
    [50, 55],
  ])
  t.equal(scaledReader(reader, 1), reader, 'seconds of the same length need nothing')
  t.end()
})
