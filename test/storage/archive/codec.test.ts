import * as fc from 'fast-check'
import t from 'tap'
import { ByteSink, ByteSource } from '../../../storage/archive/bytes.ts'
import { decodeColumn, encodeColumn } from '../../../storage/archive/codec.ts'

function sizeOf(values: readonly number[]): number {
  const sink = new ByteSink()
  encodeColumn(sink, Float64Array.from(values), 0, values.length)
  return sink.length
}

t.test('any column is read back bit by bit, unknown values included', async (t) => {
  const value = fc.oneof(
    fc.constant(0),
    fc.constant(Number.NaN),
    fc.nat(300),
    fc.integer({ min: 2 ** 31 - 2, max: 2 ** 33 }),
    fc.maxSafeNat(),
  )
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 128 }), fc.nat(5), (values, at) => {
      const sink = new ByteSink()
      const padded = Float64Array.from([...Array.from({ length: at }, () => 1), ...values])
      encodeColumn(sink, padded, at, values.length)
      const source = new ByteSource(sink.take())
      const out = new Float64Array(values.length + 1)
      decodeColumn(source, out, 1, values.length)
      return source.at === sink.length && values.every((wanted, i) => Object.is(out[i + 1], wanted))
    }),
    { numRuns: 2_000 },
  )
  t.pass()
})

t.test('the smaller encoding is used', async (t) => {
  t.equal(sizeOf(Array.from({ length: 120 }, () => 0)), 1, 'idle')
  t.equal(sizeOf(Array.from({ length: 120 }, () => Number.NaN)), 1, 'unknown')
  t.equal(sizeOf(Array.from({ length: 120 }, () => 500)), 4, 'constant')
  t.ok(sizeOf(Array.from({ length: 120 }, (_, i) => (i === 60 ? 7 : 0))) <= 6, 'one event')
  t.ok(sizeOf(Array.from({ length: 120 }, (_, i) => 1_000 + (i % 16))) <= 64, 'a narrow band')
})

t.test('an unknown mode is refused', async (t) => {
  t.throws(() => decodeColumn(new ByteSource(new Uint8Array([9])), new Float64Array(4), 0, 4))
})
