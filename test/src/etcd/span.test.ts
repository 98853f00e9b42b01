import fc from 'fast-check'
import t from 'tap'
import { base64, spanFields } from '../../../src/etcd/span.ts'

const hex = (text = '') => Buffer.from(text, 'base64').toString('hex')
const bounds = (fields: { readonly key: string; readonly range_end?: string }) => [
  hex(fields.key),
  hex(fields.range_end),
]

t.test('one key, a prefix, and all keys from one on', async (test) => {
  test.same(spanFields({ key: 'ä' }), { key: 'w6Q=' })
  test.same(bounds(spanFields({ prefix: Uint8Array.of(1, 0xff, 0xff) })), ['01ffff', '02'])
  test.same(bounds(spanFields({ prefix: Uint8Array.of(0xff, 0xff) })), ['ffff', '00'])
  test.same(bounds(spanFields({ prefix: '' })), ['00', '00'])
  test.same(bounds(spanFields({ from: 'a' })), ['61', '00'])
  test.same(bounds(spanFields({ from: '', before: 'b' })), ['00', '62'])
  // A part of a larger buffer is only that part.
  test.equal(base64(Uint8Array.of(1, 2, 3).subarray(1, 2)), 'Ag==')
})

t.test('the span of a prefix holds exactly the keys that begin with it', async () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 4 })
  const sharp = fc.uint8Array({ minLength: 1, maxLength: 4, min: 0xfe })
  fc.assert(
    fc.property(fc.oneof(bytes, sharp), fc.oneof(bytes, sharp), fc.boolean(), (prefix, other, isInside) => {
      const key = Buffer.from(isInside ? [...prefix, ...other] : other)
      const { key: from, range_end: end = '' } = spanFields({ prefix })
      const [first, last] = [Buffer.from(from, 'base64'), Buffer.from(end, 'base64')]
      const isToTheEnd = last.equals(Uint8Array.of(0))
      const isWithin = key.compare(first) >= 0 && (isToTheEnd || key.compare(last) < 0)
      return isWithin === key.subarray(0, prefix.length).equals(prefix)
    }),
    { numRuns: 2000 },
  )
})
