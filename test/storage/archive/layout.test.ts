import * as fc from 'fast-check'
import t from 'tap'
import {
  ceilTo,
  chunkEndAfter,
  chunkEndAtOrBefore,
  coverageStart,
  floorTo,
  keyFirst,
  keySecond,
  makeKey,
} from '../../../storage/archive/layout.ts'
import { span_s, tierAt, TIERS } from '../../../storage/archive/tiers.ts'

const u32 = fc.integer({ min: 0, max: 0xffffffff })

t.test('keys: round trip, and the order of bytes is the order of numbers', async (t) => {
  fc.assert(
    fc.property(u32, u32, u32, u32, (a, b, c, d) => {
      const left = makeKey(a, b)
      const right = makeKey(c, d)
      const byBytes = Math.sign(Buffer.compare(left, right))
      return (
        keyFirst(left) === a && keySecond(left) === b && byBytes === (a === c ? Math.sign(b - d) : Math.sign(a - c))
      )
    }),
  )
  t.pass()
})

t.test('every second is in exactly one chunk of its object, and chunks end on steps', async (t) => {
  const time = fc.integer({ min: 1_000_000_000, max: 2_000_000_000 })
  fc.assert(
    fc.property(fc.nat(TIERS.length - 1), fc.nat(100_000), time, (index, id, second) => {
      const tier = tierAt(index)
      const end = chunkEndAfter(tier, id, second)
      const start = end - span_s(tier)
      return start <= second && second < end && end % tier.step_s === 0 && chunkEndAtOrBefore(tier, id, end) === end
    }),
  )
  t.pass()
})

t.test('the chunks of many objects spread over the span', async (t) => {
  const ends = new Set<number>()
  for (let id = 0; id < 120; id++) ends.add(chunkEndAfter(tierAt(0), id, 1_700_000_000))
  t.equal(ends.size, 120)
})

t.test('coverage is the nominal ring', async (t) => {
  t.equal(coverageStart(tierAt(1), 1_700_000_009), 1_700_000_000 - 86_400)
  t.strictSame([floorTo(19, 10), ceilTo(11, 10), ceilTo(20, 10)], [10, 20, 20])
})
