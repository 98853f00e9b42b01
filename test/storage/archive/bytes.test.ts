import * as fc from 'fast-check'
import t from 'tap'
import { ByteSink, ByteSource, varintSize } from '../../../storage/archive/bytes.ts'

t.test('varints of every safe integer are read back, with the predicted size', async (t) => {
  const edges = [0, 1, 127, 128, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 35, 2 ** 42, 2 ** 49, Number.MAX_SAFE_INTEGER]
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.maxSafeNat(), fc.constantFrom(...edges))), (values) => {
      const sink = new ByteSink()
      let size = 0
      for (const value of values) {
        sink.varint(value)
        size += varintSize(value)
      }
      const source = new ByteSource(sink.take())
      return sink.length === size && values.every((value) => source.varint() === value) && source.at === size
    }),
  )
  t.pass()
})

t.test('a sink grows beyond its first buffer', async (t) => {
  const sink = new ByteSink()
  for (let i = 0; i < 5_000; i++) sink.u32(i)
  const source = new ByteSource(sink.take())
  for (let i = 0; i < 5_000; i++) if (source.u32() !== i) t.fail(`number ${i}`)
  t.equal(source.at, 20_000)
})
