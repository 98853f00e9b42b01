import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import t from 'tap'
import { ByteSink, ByteSource } from '../../../storage/archive/bytes.ts'
import {
  decodeBaseChunk,
  decodeCoarseChunk,
  encodeBaseChunk,
  encodeCoarseChunk,
  readHead,
} from '../../../storage/archive/chunk.ts'
import { consolidateBase, Points } from '../../../storage/archive/consolidate.ts'

const seconds = fc.array(fc.oneof(fc.constant(0), fc.nat(1_000), fc.nat(2 ** 31), fc.constant(Number.NaN)), {
  minLength: 480,
  maxLength: 480,
})

t.test('base chunks are read back', async (t) => {
  fc.assert(
    fc.property(seconds, (values) => {
      const bytes = encodeBaseChunk(new ByteSink(), 1_700_000_000, Float64Array.from(values), 120)
      const out = new Float64Array(480)
      return decodeBaseChunk(bytes, out) === 120 && values.every((value, i) => Object.is(out[i], value))
    }),
  )
  t.pass()
})

t.test('coarse chunks are read back, and end where they should', async (t) => {
  fc.assert(
    fc.property(seconds, (values) => {
      const points = new Points()
      points.reset(12)
      consolidateBase(Float64Array.from(values), 120, 10, points, 0)
      const bytes = encodeCoarseChunk(new ByteSink(), 1_700_000_000, points)
      const out = new Points()
      const end = decodeCoarseChunk(bytes, out)
      const columns = ['n', 'count', 'sum', 'minimum', 'maximum'] as const
      return end === bytes.length && columns.every((column) => isDeepStrictEqual(out[column], points[column]))
    }),
  )
  t.pass()
})

t.test('the head has first bucket and length; another version is refused', async (t) => {
  const bytes = encodeBaseChunk(new ByteSink(), 1_700_000_000, new Float64Array(480), 120)
  t.match(readHead(new ByteSource(bytes)), { first_s: 1_700_000_000, n: 120 })
  bytes[0] = 9
  t.throws(() => readHead(new ByteSource(bytes)))
  t.equal(bytes.length, 10, 'an idle object costs four bytes for two minutes')
})
