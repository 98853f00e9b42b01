import t from 'tap'
import { ByteSink, ByteSource } from '../../../storage/archive/bytes.ts'
import {
  blockOf,
  decodeBaseline,
  decodeBlock,
  encodeBaseline,
  encodeBlock,
  placeInBlock,
} from '../../../storage/archive/tail.ts'
import { TAIL_BLOCK_OBJECTS } from '../../../storage/limits.ts'

t.test('blocks and baselines are read back', async (t) => {
  const values = Float64Array.from({ length: 4 * TAIL_BLOCK_OBJECTS }, (_, i) =>
    i % 3 === 0 ? Number.NaN : i % 5 === 0 ? 0 : i * 1e9,
  )
  const sink = new ByteSink()
  encodeBlock(sink, values, 4)
  const out = new Float64Array(values.length)
  const source = new ByteSource(sink.take())
  decodeBlock(source, out, 4)
  t.strictSame([...out], [...values])
  t.equal(source.at, sink.length)
  const head = decodeBaseline(encodeBaseline(sink, { second: 1_700_000_000, pid: 77 }, values), out)
  t.strictSame(head, { second: 1_700_000_000, pid: 77 })
  t.strictSame([...out.subarray(0, 3 * TAIL_BLOCK_OBJECTS)], [...values.subarray(0, 3 * TAIL_BLOCK_OBJECTS)])
})

t.test('an object has one place in one block', async (t) => {
  t.strictSame([blockOf(0), placeInBlock(0), blockOf(124), blockOf(125), placeInBlock(126)], [0, 0, 0, 1, 1])
})
