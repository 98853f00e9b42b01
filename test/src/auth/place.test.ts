import t from 'tap'
import { placeOf, siteOf } from '../../../src/auth/place.ts'

t.test('an IPv6 network of 64 bits is one place, an IPv4 address is one, also inside IPv6', async (test) => {
  test.equal(placeOf('2001:db8:1:2::1'), placeOf('2001:0db8:0001:0002:ffff:0000:0000:0001'))
  test.not(placeOf('2001:db8:1:2::1'), placeOf('2001:db8:1:3::1'))
  test.equal(placeOf('192.0.2.1'), '192.0.2.1')
  test.not(placeOf('::ffff:192.0.2.1'), placeOf('::ffff:192.0.2.2'))
  test.equal(placeOf('second factor'), 'second factor')
})

t.test('networks of one site share a queue', async (test) => {
  test.equal(siteOf('2001:db8:1:2::1'), siteOf('2001:db8:1:ffff::9'))
  test.not(siteOf('2001:db8:1::1'), siteOf('2001:db8:2::1'))
  test.equal(siteOf('192.0.2.1'), '192.0.2.1')
})
