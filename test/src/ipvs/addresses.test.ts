import t from 'tap'
import { addressOfWords, addressWords, destKey, dottedMask, markKey, serviceKey } from '../../../src/ipvs/addresses.ts'
import { AF_INET, AF_INET6 } from '../../../src/ipvs/protocol.ts'

t.test('addresses as text and back', (t) => {
  t.strictSame(addressWords('192.0.2.7'), { family: AF_INET, words: [0xc0_00_02_07, 0, 0, 0] })
  t.strictSame(addressWords('2001:db8::7'), { family: AF_INET6, words: [0x20_01_0d_b8, 0, 0, 7] })
  t.equal(addressOfWords(AF_INET, [0xff_00_02_07]), '255.0.2.7')
  t.equal(addressOfWords(AF_INET6, [0x20_01_0d_b8, 0, 0, 7]), '2001:db8::7')
  t.throws(() => addressWords('nonsense'), RangeError)
  t.end()
})

t.test('a name identifies one service, however its address is written', (t) => {
  t.equal(serviceKey('tcp', '2001:db8::7', 80), serviceKey('tcp', '2001:DB8:0::0:7', 80))
  t.not(serviceKey('tcp', '192.0.2.7', 80), serviceKey('udp', '192.0.2.7', 80))
  t.not(markKey('192.0.2.7', 5), markKey('2001:db8::7', 5), 'a mark belongs to a family')
  t.equal(markKey('192.0.2.7', 5), markKey('192.0.2.8', 5))
  t.equal(destKey('10.0.0.1', 80), `${AF_INET}.80.167772161.0.0.0`)
  t.end()
})

t.test('masks as people write them', (t) => {
  t.equal(dottedMask(AF_INET, 0x00_ff_ff_ff), '255.255.255.0')
  t.equal(dottedMask(AF_INET, 0xff_ff_ff_ff), '255.255.255.255')
  t.equal(dottedMask(AF_INET6, 64), '64')
  t.end()
})
