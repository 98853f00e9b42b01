import * as fc from 'fast-check'
import t from 'tap'
import { shareOf } from '../../../storage/archive/buckets.ts'

t.test('the sum over the buckets is the increment exactly', async (t) => {
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.integer({ min: 1, max: 5 }), (increment, n) => {
      const shares = Array.from({ length: n }, (_, index) => shareOf(increment, n, index))
      const even = Math.floor(increment / n)
      return shares.reduce((sum, share) => sum + share, 0) === increment && shares.every((share) => share - even <= 1)
    }),
  )
  t.strictSame(
    [0, 1, 2].map((index) => shareOf(11, 3, index)),
    [3, 4, 4],
    'the remainder goes to the last',
  )
  t.ok(Number.isNaN(shareOf(Number.NaN, 3, 0)))
})
