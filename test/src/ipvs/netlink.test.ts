import t from 'tap'
import { attributeEnd, FLAG, MessageWriter } from '../../../src/ipvs/netlink.ts'

t.test('a message as the kernel reads it', (t) => {
  const out = new MessageWriter()
  out.begin(31, FLAG.request | FLAG.dump, 7)
  out.command(8, 1)
  const nested = out.open(1)
  out.u16(1, 2)
  out.port(4, 80)
  out.text(6, 'wlc')
  out.close(nested)
  t.equal(
    Buffer.from(out.end()).toString('hex'),
    [
      '30000000 1f00 0103 07000000 00000000',
      '08 01 0000',
      '1c00 0180',
      '0600 0100 0200 0000',
      '0600 0400 0050 0000',
      '0800 0600 776c6300',
    ]
      .join('')
      .replaceAll(' ', ''),
  )
  out.begin(2, 0, 8)
  out.code(-3)
  t.equal(
    Buffer.from(out.end()).toString('hex'),
    '140000000200000008000000 00000000 fdffffff'.replaceAll(' ', ''),
    'nothing is left',
  )
  t.end()
})

t.test('an attribute has to fit into its container', (t) => {
  const view = new DataView(Uint8Array.of(8, 0, 1, 0, 9, 9, 9, 9).buffer)
  t.equal(attributeEnd(view, 0, 8), 8)
  t.throws(() => attributeEnd(view, 0, 7), { message: 'its answer is malformed' })
  view.setUint16(0, 3, true)
  t.throws(() => attributeEnd(view, 0, 8), { message: 'its answer is malformed' })
  t.end()
})
