import fc from 'fast-check'
import t from 'tap'
import { decodePacket, encodePacket, valuesOf, vendorAttribute, vendorValues } from '../../../src/radius/packet.ts'

const authenticator = Buffer.from('0f403f9473978057bd83d5cb98f4227a', 'hex')
const packet = (...attributes: { type: number; value: Uint8Array }[]) => ({
  code: 1,
  identifier: 7,
  authenticator,
  attributes,
})
const text = (type: number, value: string) => ({ type, value: Buffer.from(value) })

t.test('the acceptance of RFC 2865, section 7.1, is parsed', async (test) => {
  const sent = '0200002686fe220e7624ba2a1005f6bf9b55e0b20606000000010f06000000000e06c0a80103'
  const found = decodePacket(Buffer.from(sent, 'hex'))
  test.match(found, { code: 2, identifier: 0 })
  test.same(
    found?.attributes.map(({ type, value }) => [type, Buffer.from(value).toString('hex')]),
    [
      [6, '00000001'],
      [15, '00000000'],
      [14, 'c0a80103'],
    ],
  )
  test.same(found?.places, [22, 28, 34])
})

t.test('a written packet is read back', async (test) => {
  const values = fc.array(
    fc.record({ type: fc.integer({ min: 1, max: 255 }), value: fc.uint8Array({ maxLength: 253 }) }),
    { maxLength: 15 },
  )
  fc.assert(
    fc.property(values, fc.uint8Array({ maxLength: 40 }), (attributes, padding) => {
      const found = decodePacket(Buffer.concat([encodePacket(packet(...attributes)), padding]))
      test.same(
        found?.attributes.map(({ type, value }) => [type, ...value]),
        attributes.map(({ type, value }) => [type, ...value]),
      )
    }),
    { numRuns: 200 },
  )
})

t.test('any bytes are a packet filled by its attributes, or none', async (test) => {
  const anything = fc.uint8Array({ maxLength: 300 })
  const valid = encodePacket(packet(text(1, 'nemo'), text(25, 'ops'), vendorAttribute(9, 1, Buffer.from('roles'))))
  const edits = fc.array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { maxLength: 3 })
  const mutated = edits.map((changes) => {
    const bytes = Buffer.from(valid)
    for (const [at, value] of changes) bytes[at] = value
    return bytes
  })
  let read = 0
  fc.assert(
    fc.property(fc.oneof(anything, mutated), (bytes) => {
      const found = decodePacket(bytes)
      if (found === undefined) return
      read += 1
      const length = found.attributes.reduce((sum, { value }) => sum + value.length + 2, 20)
      vendorValues(found.attributes, 9, 1)
      if (length !== found.bytes.length) throw new Error('the attributes do not fill the packet')
    }),
    { numRuns: 20_000 },
  )
  test.ok(read > 0)
})

t.test('too short, too long, and wrong lengths', async (test) => {
  const whole = encodePacket(packet(text(1, 'nemo')))
  const broken = (change: (bytes: Buffer) => void) => {
    const bytes = Buffer.from(whole)
    change(bytes)
    return decodePacket(bytes)
  }
  test.ok(decodePacket(whole))
  for (let length = 0; length < whole.length; length += 1)
    test.equal(decodePacket(whole.subarray(0, length)), undefined)
  for (const length of [0, 19, whole.length + 1, 4097, 65_535]) {
    test.equal(
      broken((bytes) => bytes.writeUInt16BE(length, 2)),
      undefined,
      `length ${length}`,
    )
  }
  for (const length of [0, 1, 7, 255]) {
    test.equal(
      broken((bytes) => bytes.writeUInt8(length, 21)),
      undefined,
      `attribute length ${length}`,
    )
  }
  const large = Buffer.alloc(5000)
  large.writeUInt16BE(5000, 2)
  test.equal(decodePacket(large), undefined, 'over 4096 bytes')
  test.throws(() => encodePacket(packet({ type: 1, value: Buffer.alloc(254) })))
  test.throws(() => encodePacket(packet(...Array.from({ length: 17 }, () => ({ type: 1, value: Buffer.alloc(253) })))))
})

t.test('attributes of vendors', async (test) => {
  const attributes = [
    vendorAttribute(9, 1, Buffer.from('one')),
    vendorAttribute(10, 1, Buffer.from('other')),
    { type: 26, value: Buffer.from('00000009010574776f0103', 'hex') },
    { type: 26, value: Buffer.from('000000090104783101047832', 'hex') },
    { type: 26, value: Buffer.from('0000', 'hex') },
    text(1, 'nemo'),
  ]
  const seen = vendorValues(attributes, 9, 1).map((value) => Buffer.from(value).toString())
  test.same(seen, ['one', 'x1', 'x2'], 'one in a broken form is skipped, one with two values yields both')
  test.same(valuesOf(attributes, 1).map(String), ['nemo'])
})
