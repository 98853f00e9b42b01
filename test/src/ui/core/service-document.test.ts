import t from 'tap'
import { documentOf, placeIn, typedAs } from '../../../../src/ui/core/service-document.ts'

const WANTED = { name: 'shop', address: '192.0.2.10', servers: '', certificate: '', checkPath: '', sticks: false }

t.test('an address with and without a port, of both families, and a name', async (test) => {
  test.same(placeIn('192.0.2.10:8080', 80), { ip: '192.0.2.10', port: 8080 })
  test.same(placeIn(' 192.0.2.10 ', 80), { ip: '192.0.2.10', port: 80 })
  test.same(placeIn('[2001:db8::1]:443', 80), { ip: '2001:db8::1', port: 443 })
  test.same(placeIn('web.example.org:81', 80), { ip: 'web.example.org', port: 81 })
  test.same(placeIn('2001:db8::1', 80), { ip: '2001:db8::1', port: 80 }, 'unchanged, for the API to check')
})

t.test('existing servers are referred to; the others are created', async (test) => {
  const known = [{ name: 'old', ip: '10.0.0.1', port: 80 }]
  const made = documentOf({ ...WANTED, servers: '10.0.0.1, 10.0.0.2:81\n' }, known)
  test.match(made, {
    version: 1,
    realServers: { 'shop-2': { ip: '10.0.0.2', port: 81 } },
    l7Backends: { shop: { reals: [{ ripId: 'old' }, { ripId: 'shop-2' }], healthCheck: { type: 'tcp' } } },
    l7Frontends: { shop: { ip: '192.0.2.10', ports: '80', defaultBackendId: 'shop' } },
  })
  test.notOk('realServers' in documentOf({ ...WANTED, servers: '10.0.0.1' }, known))
})

t.test('with a certificate it is port 443; a check and a cookie are only sent when wanted', async (test) => {
  const made = documentOf({ ...WANTED, certificate: 'cert', checkPath: '/up', sticks: true, servers: '10.0.0.2' }, [])
  test.match(made, {
    l7Backends: { shop: { healthCheck: { type: 'http', path: '/up' }, persistence: { type: 'cookie' } } },
    l7Frontends: { shop: { ports: '443', certificates: ['cert'] } },
  })
})

t.test('a refused field of the document is named as the input into which it was typed', async (test) => {
  const made = documentOf({ ...WANTED, name: 'shop.a', servers: 'host!!:81', address: '10.0.0.1:x' }, [])
  test.same(typedAs('document.realServers.shop.a-1.ip', made), { input: 'Servers, one per line', what: 'host!!' })
  test.same(typedAs('document.l7Frontends.shop.a.ports', made), { input: 'Address for clients' })
  test.match(typedAs('document.l7Backends.shop.a.healthCheck.path', made), { input: /^Path of the health check/ })
  test.equal(typedAs('document.l7Backends', made), undefined)
})
