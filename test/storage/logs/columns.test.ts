import t from 'tap'
import { decodeNumbers, decodeTexts, encodeNumbers, encodeTexts, pack, unpack } from '../../../storage/logs/columns.ts'

t.test('numbers are read back as written', async (test) => {
  for (const values of [[], [0], [-1, 5, 300], [1_800_000_000_000, 1_800_000_000_001], [0, 2 ** 47], [7, 7, 7]]) {
    test.strictSame([...decodeNumbers(encodeNumbers(values))], values)
  }
  test.equal(encodeNumbers([7, 7, 7]).length, encodeNumbers([]).length, 'equal values take no space')
  test.throws(() => encodeNumbers([0, 2 ** 50]), /spans more than 48 bits/)
  test.throws(() => decodeNumbers(encodeNumbers([1, 2]).subarray(0, -1)), /torn/)
})

t.test('texts are stored once', async (test) => {
  const { list, places } = encodeTexts(['b', '', 'b', 'ü"\\'])
  const { different, places: read } = decodeTexts(list, places)
  test.strictSame(different, ['b', '', 'ü"\\'])
  test.strictSame([...read], [0, 1, 0, 2])
  test.throws(() => decodeTexts(Buffer.from('{}'), places), /torn/)
})

t.test('unpacking is limited', async (test) => {
  const packed = pack(Buffer.alloc(10_000))
  test.equal(unpack(packed, 10_000).length, 10_000)
  test.throws(() => unpack(packed, 9_999))
})
