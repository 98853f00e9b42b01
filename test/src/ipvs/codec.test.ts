import t from 'tap'
import { addressBytes, destsRequest, familyId, familyRequest, servicesRequest } from '../../../src/ipvs/codec.ts'
import { MessageWriter } from '../../../src/ipvs/netlink.ts'
import { AF_INET, AF_INET6, MARK_BIT, PROTOCOL } from '../../../src/ipvs/protocol.ts'
import { IpvsTable } from '../../../src/ipvs/table.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const spaced = (text: string): string => text.replaceAll(/\s/g, '')

t.test('requests as the kernel reads them', (t) => {
  const out = new MessageWriter()
  t.equal(
    hex(familyRequest(out, 1)),
    spaced('20000000 1000 0100 01000000 00000000 03010000 0900 0200 4950565300 000000'),
  )
  t.equal(hex(servicesRequest(out, 31, 2)), spaced('14000000 1f00 0103 02000000 00000000 04010000'))
  const table = new IpvsTable()
  table.begin()
  table.addService(Uint32Array.of(AF_INET | (PROTOCOL.tcp << 8), 80, 0xc0_00_02_07, 0, 0, 0))
  table.addService(Uint32Array.of(AF_INET6 | MARK_BIT, 7, 0, 0, 0, 0))
  const service = spaced(
    '0600 0100 0200 0000 0600 0200 0600 0000 1400 0300 c0000207 000000000000000000000000 0600 0400 0050 0000',
  )
  t.equal(
    hex(destsRequest(out, 31, 3, table, 0)),
    spaced(`44000000 1f00 0103 03000000 00000000 08010000 3000 0180`) + service,
  )
  const mark = spaced('0600 0100 0a00 0000 0800 0500 07000000')
  t.equal(
    hex(destsRequest(out, 31, 4, table, 1)),
    spaced('28000000 1f00 0103 04000000 00000000 08010000 1400 0180') + mark,
  )
  t.equal(hex(addressBytes(AF_INET6, [1, 2, 3, 4], 0)), '00000001000000020000000300000004')
  t.end()
})

t.test("the number of a family in the controller's answer", (t) => {
  const answer = Buffer.from(spaced('01020000 0900 0200 4950565300 000000 0600 0100 1f00 0000'), 'hex')
  const view = new DataView(new Uint8Array(answer).buffer)
  t.equal(familyId(view, 0, view.byteLength), 31)
  t.equal(familyId(view, 0, 16), undefined)
  t.end()
})
