import t from 'tap'
import { isInward } from '../../../src/base/inward-address.ts'

/** First and last address of each network, and their neighbours outside. */
const INWARD = `0.0.0.0 0.255.255.255 169.254.0.0 169.254.169.254 169.254.255.255 100.100.100.200 168.63.129.16
  224.0.0.0 255.255.255.255 :: fe80:: febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff ff00:: ff02::1 fd00:ec2::254
  fd20:ce::254`.split(/\s+/)
const OUTWARD = `1.0.0.0 169.253.255.255 169.255.0.0 100.100.100.199 100.100.100.201 168.63.129.15 223.255.255.255
  10.0.0.1 192.0.2.1 fe7f:: fec0:: fd00:ec2::253 fd20:ce::255 2001:db8::1`.split(/\s+/)

t.test('addresses that only machines should use are inward, and their neighbours are not', async (t) => {
  for (const allowsLoopback of [true, false]) {
    t.strictSame(
      INWARD.filter((address) => !isInward(address, allowsLoopback)),
      [],
    )
    t.strictSame(
      OUTWARD.filter((address) => isInward(address, allowsLoopback)),
      [],
    )
  }
})

t.test('this machine is inward unless allowed', async (t) => {
  for (const address of ['127.0.0.1', '127.255.255.255', '::1']) {
    t.equal(isInward(address, false), true)
    t.equal(isInward(address, true), false)
  }
})
