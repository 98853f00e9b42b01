import t from 'tap'
import { canonicalIp, isIpv6, isWildcard, printedIps } from '../../../../src/drivers/haproxy/address.ts'

t.test('one address has one spelling', (t) => {
  t.equal(canonicalIp('192.0.2.1'), '192.0.2.1')
  t.equal(canonicalIp('2001:DB8:0:0:0:0:0:0001'), '2001:db8::1')
  t.equal(canonicalIp('0:0:0:0:0:0:0:0'), '::')
  t.equal(canonicalIp('fe80::1%eth0'), 'fe80::1%eth0', 'an address with a zone stays as it is')
  t.end()
})

t.test('wildcards of both families are known', (t) => {
  t.strictSame(['0.0.0.0', '::', '0::0'].map(isWildcard), [true, true, true])
  t.strictSame(['127.0.0.1', '::1'].map(isWildcard), [false, false])
  t.strictSame(['::1', '127.0.0.1'].map(isIpv6), [true, false])
  t.end()
})

t.test('an address that holds an IPv4 address may be printed with dots', (t) => {
  t.strictSame(printedIps('::ffff:192.0.2.1'), ['::ffff:c000:201', '::ffff:192.0.2.1'])
  t.strictSame(printedIps('2001:db8::1'), ['2001:db8::1'])
  t.end()
})
