import fc from 'fast-check'
import t from 'tap'
import { bytesOf, fieldsOf, idOf, isSet, listOf, numberOf, part, textOf, textsOf } from '../../../src/etcd/fields.ts'

t.test('a missing field is 0, empty or false', async (test) => {
  const none = fieldsOf({})
  test.same(
    [numberOf(none, 'a'), idOf(none, 'a'), textOf(none, 'a'), textsOf(none, 'a'), listOf(none, 'a'), isSet(none, 'a')],
    [0, '0', '', [], [], false],
  )
  test.same([part(none, 'a'), bytesOf(none, 'a').length], [{}, 0])
})

t.test('numbers are accepted while they are exact, ids keep all 64 bits', async (test) => {
  test.equal(numberOf({ a: '9007199254740991' }, 'a'), Number.MAX_SAFE_INTEGER)
  test.equal(numberOf({ a: -1 }, 'a'), -1)
  test.throws(() => numberOf({ a: '9007199254740992' }, 'a'), /its a is not a valid number/)
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (id) => idOf({ id: String(id) }, 'id') === String(id)),
  )
})

t.test('bytes are read back unchanged', async () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) =>
      Buffer.from(bytes).equals(bytesOf({ a: Buffer.from(bytes).toString('base64') }, 'a')),
    ),
  )
})

t.test('anything else is not an answer of etcd', async (test) => {
  const wrong: readonly (() => unknown)[] = [
    () => fieldsOf([]),
    () => fieldsOf(null),
    () => fieldsOf('a'),
    () => part({ a: 1 }, 'a'),
    () => listOf({ a: {} }, 'a'),
    () => listOf({ a: [1] }, 'a'),
    () => numberOf({ a: '1.5' }, 'a'),
    () => numberOf({ a: '' }, 'a'),
    () => idOf({ a: 12 }, 'a'),
    () => idOf({ a: '0x12' }, 'a'),
    () => textOf({ a: 1 }, 'a'),
    () => textsOf({ a: [1] }, 'a'),
  ]
  for (const read of wrong) test.throws(read, /^its /, String(read))
})
