import { resolve } from 'node:path'
import t from 'tap'
import { addressText, parseSocketAddress } from '../../../src/base/socket-address.ts'

t.test('addresses as HAProxy writes them', async (test) => {
  const read: readonly (readonly [string, unknown])[] = [
    ['/run/haproxy/admin.sock', { path: '/run/haproxy/admin.sock' }],
    ['unix@/run/haproxy/admin.sock', { path: '/run/haproxy/admin.sock' }],
    ['run/a:1/x', { path: resolve('run/a:1/x') }],
    ['admin.sock', { path: resolve('admin.sock') }],
    ['127.0.0.1:9999', { host: '127.0.0.1', port: 9999 }],
    ['ipv4@127.0.0.1:9999', { host: '127.0.0.1', port: 9999 }],
    ['[::1]:9999', { host: '::1', port: 9999 }],
    ['::1:9999', { host: '::1', port: 9999 }],
    ['ipv6@::1:9999', { host: '::1', port: 9999 }],
  ]
  for (const [text, address] of read) test.strictSame(parseSocketAddress(text), address, text)
})

t.test('addresses that cannot be observed give the reason', async (test) => {
  const refused: readonly (readonly [string, RegExp])[] = [
    ['unix@', /path is missing/],
    [`/${'x'.repeat(107)}`, /108 bytes.*107/],
    ['abns@haproxy', /kind abns@/],
    ['fd@3', /kind fd@/],
    ['localhost:9999', /ADDRESS:PORT/],
    ['ipv4@::1:9999', /ADDRESS:PORT/],
    ['ipv6@127.0.0.1:9999', /ADDRESS:PORT/],
    ['127.0.0.1:0', /ADDRESS:PORT/],
    ['127.0.0.1:65536', /ADDRESS:PORT/],
    ['127.0.0.1:', /ADDRESS:PORT/],
  ]
  for (const [text, why] of refused) test.match(parseSocketAddress(text), why, text)
})

t.test('in messages', async (test) => {
  test.equal(addressText({ path: '/s' }), '/s')
  test.equal(addressText({ host: '127.0.0.1', port: 1 }), '127.0.0.1:1')
  test.equal(addressText({ host: '::1', port: 1 }), '[::1]:1')
})
