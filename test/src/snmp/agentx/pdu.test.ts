import fc from 'fast-check'
import t from 'tap'
import { Malformed } from '../../../../src/snmp/agentx/bytes.ts'
import {
  closePdu,
  ERROR,
  HEADER_BYTES,
  openPdu,
  pingPdu,
  readHeader,
  readPdu,
  registerPdu,
  responsePdu,
} from '../../../../src/snmp/agentx/pdu.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')
const IDS = { sessionId: 1, transactionId: 2, packetId: 3 }

const request = (type: number, payload: string, flags = 0x10) => {
  const bytes = hex(payload)
  const length = bytes.length.toString(16).padStart(8, '0')
  const all = Buffer.concat([
    hex(
      `01${type.toString(16).padStart(2, '0')}${flags.toString(16).padStart(2, '0')}00 00000001 00000002 00000003 ${length}`,
    ),
    bytes,
  ])
  const header = readHeader(all)
  if (header === undefined) throw new Error('no header')
  return readPdu(header, all.subarray(HEADER_BYTES))
}

t.test('the PDUs of a session, byte by byte', async (test) => {
  test.equal(
    openPdu(3, 5, 'Fulcrum').toString('hex'),
    hex('01011000 00000000 00000000 00000003 00000014 05000000 00000000 00000007 46756c63 72756d00').toString('hex'),
  )
  test.equal(
    registerPdu(9, 4, [1, 3, 6, 1, 4, 1, 8072]).toString('hex'),
    hex('01031000 00000009 00000000 00000004 00000010 007f0000 02040000 00000001 00001f88').toString('hex'),
  )
  test.equal(pingPdu(9, 5).toString('hex'), hex('010d1000 00000009 00000000 00000005 00000000').toString('hex'))
  test.equal(
    closePdu(9, 6).toString('hex'),
    hex('01021000 00000009 00000000 00000006 00000004 05000000').toString('hex'),
  )
  test.equal(
    responsePdu(IDS, ERROR.notWritable, 1, []).toString('hex'),
    hex('01121000 00000001 00000002 00000003 00000008 00000000 00110001').toString('hex'),
  )
})

t.test('requests of a master are parsed', async (test) => {
  const range = '02020100 00000001 00000007  02020000 00000001 00000009'
  const ranges = [{ start: [1, 3, 6, 1, 2, 1, 7], isIncluded: true, end: [1, 3, 6, 1, 2, 1, 9] }]
  test.same(request(5, range), { kind: 'get', ranges })
  test.same(request(6, range), { kind: 'getNext', ranges })
  test.same(request(7, `00010005 ${range}`), { kind: 'getBulk', nonRepeaters: 1, repetitions: 5, ranges })
  test.same(request(8, ''), { kind: 'testSet' })
  test.same(request(13, ''), { kind: 'ping' })
  test.same(request(18, '00000000 01070000'), { kind: 'response', error: 263 })
  test.same(request(99, ''), { kind: 'unknown' })
  test.same(request(5, `00000003 61626300 ${range}`, 0x18), { kind: 'context' })
  test.same(request(5, `00000000 ${range}`, 0x18), { kind: 'get', ranges }, 'the default context, by name')
  test.same(request(6, '').kind, 'getNext')
})

t.test('an incomplete header waits; an invalid one is malformed', async (test) => {
  const whole = pingPdu(1, 2)
  for (let length = 0; length < HEADER_BYTES; length++) test.equal(readHeader(whole.subarray(0, length)), undefined)
  test.throws(() => readHeader(Buffer.alloc(HEADER_BYTES, 0x47)), { message: /version/ })
  const long = Buffer.from(whole)
  long.writeUInt32BE(0x7fff_fff0, 16)
  test.throws(() => readHeader(long), { message: /bytes in one PDU/ })
})

t.test('garbage is malformed, and no other error is thrown', async () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 200 }),
      fc.integer({ min: 0, max: 20 }),
      fc.nat(255),
      (bytes, type, flags) => {
        const head = Buffer.alloc(HEADER_BYTES)
        head.writeUInt8(1, 0)
        head.writeUInt8(type, 1)
        head.writeUInt8(flags, 2)
        try {
          const header = readHeader(head)
          if (header !== undefined) readPdu(header, Buffer.from(bytes))
        } catch (error) {
          if (!(error instanceof Malformed)) throw error
        }
      },
    ),
    { numRuns: 3000 },
  )
})
