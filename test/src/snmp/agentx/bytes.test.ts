import fc from 'fast-check'
import t from 'tap'
import { Malformed, Reader, Writer } from '../../../../src/snmp/agentx/bytes.ts'

const written = (write: (writer: Writer) => void) => {
  const writer = new Writer()
  write(writer)
  return writer.bytes().toString('hex')
}

t.test('identifiers below 1.3.6.1 are written short (RFC 2741, 5.1)', async (test) => {
  test.equal(
    written((to) => to.oid([1, 3, 6, 1, 2, 1, 1, 1, 0])),
    '04020000 00000001 00000001 00000001 00000000'.replaceAll(' ', ''),
  )
  test.equal(
    written((to) => to.oid([1, 2])),
    '020000000000000100000002',
  )
  test.equal(
    written((to) => to.oid([])),
    '00000000',
  )
  test.equal(written((to) => to.oid([1, 3, 6, 1, 300, 7])).slice(0, 8), '06000000')
})

t.test('texts are padded to four bytes with zeros', async (test) => {
  test.equal(
    written((to) => to.octets('abcde')),
    '00000005616263646500 0000'.replaceAll(' ', ''),
  )
  test.equal(
    written((to) => to.octets('')),
    '00000000',
  )
})

t.test('values have their type, their name and their content', async (test) => {
  const oid = [1, 3, 6, 1, 2, 7]
  const name = '0102000000000007'
  test.equal(
    written((to) => to.varBind({ oid, value: { kind: 'integer', value: -1 } })),
    `00020000${name}ffffffff`,
  )
  test.equal(
    written((to) => to.varBind({ oid, value: { kind: 'gauge', value: 2 ** 32 - 1 } })),
    `00420000${name}ffffffff`,
  )
  test.equal(
    written((to) => to.varBind({ oid, value: { kind: 'ticks', value: 7 } })),
    `00430000${name}00000007`,
  )
  const large = 2n ** 64n - 2n
  test.equal(
    written((to) => to.varBind({ oid, value: { kind: 'counter64', value: large } })),
    `00460000${name}fffffffffffffffe`,
  )
  test.equal(
    written((to) => to.varBind({ oid, value: 'endOfMibView' })),
    `00820000${name}`,
  )
  test.equal(
    written((to) => to.varBind({ oid, value: { kind: 'text', value: 'a' } })),
    `00040000${name}0000000161000000`,
  )
})

t.test('written values are read back, in both byte orders', async (test) => {
  const numbers = fc.array(fc.integer({ min: 0, max: 2 ** 32 - 1 }), { maxLength: 128 })
  fc.assert(
    fc.property(numbers, fc.uint8Array({ maxLength: 700 }), (oid, octets) => {
      const writer = new Writer()
      writer.oid(oid)
      writer.octets(octets)
      const reader = new Reader(writer.bytes(), true)
      test.same(reader.oid().oid, oid)
      test.same(Buffer.from(octets).equals(reader.octets()), true)
      test.equal(reader.left, 0)
    }),
    { numRuns: 200 },
  )
  const little = Buffer.from('01020100070000000300000061626300', 'hex')
  const reader = new Reader(little, false)
  test.same(reader.oid(), { oid: [1, 3, 6, 1, 2, 7], include: true })
  test.equal(reader.octets().toString(), 'abc')
})

t.test('truncated or impossible bytes are malformed, and no other error is thrown', async (test) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), fc.boolean(), (bytes, isBig) => {
      for (const read of ['oid', 'octets', 'u8', 'u16', 'u32'] as const) {
        try {
          new Reader(Buffer.from(bytes), isBig)[read]()
        } catch (error) {
          if (!(error instanceof Malformed)) throw error
        }
      }
    }),
    { numRuns: 2000 },
  )
  test.throws(() => new Reader(Buffer.alloc(2000, 200), true).oid(), { message: /200 numbers/ })
})
