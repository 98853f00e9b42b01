import * as fc from 'fast-check'
import t from 'tap'
import { consolidateBase, consolidatePoints, Points } from '../../../storage/archive/consolidate.ts'
import { METRIC_COUNT } from '../../../storage/archive/tiers.ts'

const base = fc.array(fc.oneof(fc.nat(1_000_000), fc.constant(Number.NaN)), { minLength: 240, maxLength: 240 })

t.test('a tier computed from a finer tier equals the one computed from the seconds', async (t) => {
  fc.assert(
    fc.property(base, (values) => {
      const seconds = Float64Array.from(values)
      const [fine, direct, through] = [new Points(), new Points(), new Points()]
      fine.reset(6)
      direct.reset(1)
      through.reset(1)
      consolidateBase(seconds, 60, 10, fine, 0)
      consolidateBase(seconds, 60, 60, direct, 0)
      consolidatePoints(fine, 6, through, 0)
      for (const column of ['count', 'sum', 'minimum', 'maximum'] as const) {
        for (let i = 0; i < METRIC_COUNT; i++) if (direct[column][i] !== through[column][i]) return false
      }
      return true
    }),
  )
  t.pass()
})

t.test('minimum <= average <= maximum, and unknown seconds are left out', async (t) => {
  fc.assert(
    fc.property(base, (values) => {
      const points = new Points()
      points.reset(6)
      consolidateBase(Float64Array.from(values), 60, 10, points, 0)
      for (let i = 0; i < 6 * METRIC_COUNT; i++) {
        const count = points.count[i] ?? 0
        const average = (points.sum[i] ?? 0) / count
        if (count > 0 && !((points.minimum[i] ?? 0) <= average && average <= (points.maximum[i] ?? 0))) return false
      }
      return true
    }),
  )
  const points = new Points()
  points.reset(2)
  t.ok(points.isEmpty())
  consolidateBase(
    Float64Array.of(Number.NaN, 4, Number.NaN, Number.NaN, ...new Float64Array(12).fill(Number.NaN)),
    4,
    2,
    points,
    0,
  )
  t.strictSame([points.count[0], points.sum[0], points.count[1]], [1, 4, 0])
  t.notOk(points.isEmpty())
})
