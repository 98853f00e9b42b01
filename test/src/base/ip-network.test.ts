import t from 'tap'
import {
  clientIp,
  canonicalIp,
  canonicalNetwork,
  contains,
  familyOf,
  fullPrefix,
  nearestTo,
  networkText,
  type Network,
  parseIp,
  parseNetwork,
  reservedAddress,
} from '../../../src/base/ip-network.ts'

const network = (text: string): Network => {
  const parsed = parseNetwork(text)
  if (parsed === undefined) throw new Error(text)
  return parsed
}

t.test('addresses have one shortest form', async (test) => {
  for (const [text, shortest] of [
    ['192.0.2.1', '192.0.2.1'],
    ['0.0.0.0', '0.0.0.0'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['1:0:0:2:3:0:0:4', '1::2:3:0:0:4'],
    ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
    ['10:0:0:20:30:40:50:60', '10::20:30:40:50:60'],
    ['::ffff:192.0.2.1', '::ffff:c000:201'],
    ['fe80::1', 'fe80::1'],
    ['not an address', 'not an address'],
  ] as const) {
    test.equal(canonicalIp(text), shortest, text)
    if (shortest.includes(':')) test.equal(parseIp(text)?.value, parseIp(shortest)?.value, text)
  }
})

t.test('a network is an address and a prefix length; anything else is refused', async (test) => {
  test.equal(networkText(network('10.1.2.3/24')), '10.1.2.3/24')
  test.equal(canonicalNetwork('10.1.2.3/24'), '10.1.2.0/24')
  test.equal(canonicalNetwork('10.1.2.3'), '10.1.2.3/32')
  test.equal(canonicalNetwork('2001:db8:0::7/48'), '2001:db8::/48')
  test.equal(canonicalNetwork('::/0'), '::/0')
  test.equal(canonicalNetwork('x'), 'x')
  for (const text of ['', '10.0.0.0/33', '::/129', '10.0.0.0/8/8', '10.0.0.0/', '10.0/8', 'fe80::1%eth0', '::/-1']) {
    test.equal(parseNetwork(text), undefined, text)
  }
  test.equal(parseIp('10.0.0.0/8'), undefined)
  test.same([fullPrefix(4), fullPrefix(6), familyOf('::'), familyOf('1.2.3.4')], [32, 128, 6, 4])
})

t.test('a network contains the addresses and networks that share its bits', async (test) => {
  const holds = (outer: string, inner: string) => contains(network(outer), network(inner))
  test.ok(holds('10.0.0.0/8', '10.255.0.1'))
  test.ok(holds('0.0.0.0/0', '10.255.0.1'))
  test.ok(holds('2001:db8::/32', '2001:db8:ffff::/48'))
  test.notOk(holds('10.0.0.0/8', '11.0.0.0'))
  test.notOk(holds('10.0.0.0/8', '10.0.0.0/7'))
  test.notOk(holds('::/0', '10.0.0.1'))
})

t.test('network and broadcast address belong to no host, except where a network has none', async (test) => {
  const reserved = (text: string, ip: string) => reservedAddress(network(text), network(ip))
  test.equal(reserved('192.0.2.0/24', '192.0.2.0'), 'network')
  test.equal(reserved('192.0.2.0/24', '192.0.2.255'), 'broadcast')
  test.equal(reserved('192.0.2.0/24', '192.0.2.1'), undefined)
  test.equal(reserved('192.0.2.0/31', '192.0.2.0'), undefined)
  test.equal(reserved('192.0.2.1/32', '192.0.2.1'), undefined)
  test.equal(reserved('2001:db8::/64', '2001:db8::'), undefined)
})

t.test('an address in the narrowest network around another', async (test) => {
  const [wide, narrow] = [
    { ip: '10.0.0.5', prefix: 8 },
    { ip: '10.0.1.5', prefix: 24 },
  ]
  test.equal(nearestTo(network('10.0.1.1'), [wide, narrow]), narrow)
  test.equal(nearestTo(network('10.9.0.1'), [wide, narrow]), wide)
  test.equal(nearestTo(network('11.0.0.1'), [wide, narrow]), undefined)
})

t.test('a client is identified by its own address, however a dual-stack socket writes it', async (test) => {
  for (const text of ['192.0.2.7', '::ffff:192.0.2.7', '0000:0000:0000:0000:0000:ffff:192.0.2.7']) {
    test.equal(clientIp(text), '192.0.2.7', text)
  }
  test.equal(clientIp('2001:0db8:0:0:0:0:0:9'), '2001:db8::9')
})
