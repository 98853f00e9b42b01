import * as fc from 'fast-check'
import t from 'tap'
import { selectTier, servedWindow } from '../../../storage/archive/select.ts'
import { type Tier, tierAt, TIERS } from '../../../storage/archive/tiers.ts'
import { selectByModel } from './reference-model.ts'

const HWM = 1_700_020_007

t.test('the choice of a tier is that of rrd_fetch_fn, ties included', async (t) => {
  const steps = [1, 10, 60, 300]
  const small: Tier[] = steps.map((step_s) => ({ name: `${step_s}`, step_s, rows: 60, points: 30 }))
  const span = fc.oneof(
    fc.constantFrom(0, 1, 10, 59, 60, 61, 599, 600, 601, 3_599, 3_600, 3_601, 18_000),
    fc.nat(40_000),
  )
  const resolution = fc.oneof(fc.constantFrom(1, 2, 5, 6, 35, 36, 180, 181), fc.integer({ min: 1, max: 5_000 }))
  fc.assert(
    fc.property(span, fc.nat(5_000), resolution, (length, ago, wanted) => {
      const end = HWM - ago
      const start = end - length
      const model = selectByModel(
        steps.map((step) => [step, 60] as const),
        HWM,
        start,
        end,
        wanted,
      )
      return small[selectTier(small, HWM, start, wanted)]?.step_s === model
    }),
    { numRuns: 20_000 },
  )
  t.pass()
})

t.test('by name: finest when omitted, nearest when requested, the finer on a tie, coarser when too old', async (t) => {
  const step = (start: number, resolution?: number) => tierAt(selectTier(TIERS, HWM, start, resolution)).step_s
  t.equal(step(HWM - 60), 1)
  t.equal(step(HWM - 60, 11), 10)
  t.equal(step(HWM - 60, 35), 10, 'as far from 10 as from 60')
  t.equal(step(HWM - 60, 36), 60)
  t.equal(step(HWM - 7_200, 1), 1, 'the last second of the ring')
  t.equal(step(HWM - 7_201, 1), 10)
  t.equal(step(HWM - 200_000), 60)
  t.equal(step(0), 3_600, 'older than all: the longest overlap')
})

t.test('edges: half-open, closed buckets only, start = end is one bucket, the future is dropped', async (t) => {
  const window = (step: number, start: number, end: number) => {
    const { first_s, end_s } = servedWindow(step, 1_000, start, end)
    return [first_s, end_s]
  }
  t.strictSame(window(10, 905, 921), [900, 930])
  t.strictSame(window(10, 900, 920), [900, 920])
  t.strictSame(window(10, 905, 905), [900, 910])
  t.strictSame(window(10, 980, 5_000), [980, 1_000])
  t.strictSame(window(300, 700, 1_000), [600, 900], 'the bucket from 900 is still open')
  t.strictSame(window(10, 2_000, 3_000), [2_000, 2_000])
})
