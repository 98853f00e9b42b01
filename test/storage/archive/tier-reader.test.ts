import t from 'tap'
import { ByteSink } from '../../../storage/archive/bytes.ts'
import { encodeBaseChunk } from '../../../storage/archive/chunk.ts'
import { Points } from '../../../storage/archive/consolidate.ts'
import type { RingView } from '../../../storage/archive/ring.ts'
import { TierReader } from '../../../storage/archive/tier-reader.ts'
import { TIERS } from '../../../storage/archive/tiers.ts'

const S = 1_700_000_040
const RING_FROM = S + 240

/** The value of every second and metric is the second's distance from S. */
function ringFrom(oldest: number, overwritten = false): RingView {
  return {
    hwm: () => S + 400,
    oldest: () => oldest,
    copy: (_slot, _id, from, to, out, at, stride) => {
      for (let metric = 0; metric < 4; metric++)
        for (let s = from; s < to; s++) out[at + metric * stride + s - from] = s - S
      return !overwritten
    },
  }
}

/** Object 0 has chunks at multiples of 120; S is one. */
function chunk(tier: number, end: number): Uint8Array | undefined {
  if (tier !== 0) return undefined
  const values = Float64Array.from({ length: 480 }, (_, i) => Math.max(0, end - 120 - S) + (i % 120))
  return end > S && end <= S + 360 ? encodeBaseChunk(new ByteSink(), end - 120, values, 120) : undefined
}

t.test('chunks and ring make one series without a seam', async (t) => {
  const reader = new TierReader(TIERS, chunk, ringFrom(RING_FROM))
  const out = new Float64Array(4 * 390)
  t.ok(reader.readBase({ id: 0, slot: 3 }, S + 5, S + 395, S + 400, out))
  for (let i = 0; i < 390; i++) if (out[i] !== i + 5) t.fail(`second ${i}: ${out[i]}`)
})

t.test('an object without a place in the ring has its chunks', async (t) => {
  const reader = new TierReader(TIERS, chunk, ringFrom(RING_FROM))
  const out = new Float64Array(4 * 390)
  t.ok(reader.readBase({ id: 0, slot: -1 }, S + 5, S + 395, S + 400, out))
  t.strictSame([out[0], out[354], out[355]], [5, 359, Number.NaN])
})

t.test('open coarse buckets come from the finer tier', async (t) => {
  const reader = new TierReader(TIERS, chunk, ringFrom(RING_FROM))
  const points = new Points()
  t.ok(reader.readCoarse(2, { id: 0, slot: 3 }, S + 360, S + 420, S + 420, points))
  t.strictSame(
    [points.n, points.count[0], points.sum[0], points.minimum[0], points.maximum[0]],
    [1, 60, 23_370, 360, 419],
  )
})

t.test('a ring that was overwritten meanwhile is reported', async (t) => {
  const reader = new TierReader(TIERS, chunk, ringFrom(RING_FROM, true))
  t.notOk(reader.readBase({ id: 0, slot: 3 }, S + 300, S + 310, S + 400, new Float64Array(40)))
})
