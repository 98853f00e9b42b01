import t from 'tap'
import { backendProblems, frontendProblems, maskProblem, whyNoServer } from '../../../src/rules/layer4.ts'

const fields = (problems: readonly { readonly field: string }[]) => problems.map(({ field }) => field)

t.test('a service has the address of one host', (test) => {
  for (const ip of ['192.0.2.10', 'fd00::10', '127.0.0.1']) test.same(frontendProblems({ ip, ports: '80' }), [], ip)
  for (const ip of [
    '0.0.0.0',
    '::',
    '224.0.0.1',
    '255.255.255.255',
    'ff02::1',
    '::ffff:10.0.0.1',
    '::1.2.3.4',
    'fe80::1',
  ]) {
    test.same(fields(frontendProblems({ ip, ports: '80' })), ['ip'], ip)
  }
  test.end()
})

t.test('ports are listed once', (test) => {
  const twice = (ports: string) => fields(frontendProblems({ ip: '192.0.2.1', ports }))
  test.same(twice('80,443,8000-8010'), [])
  for (const ports of ['80,80', '80-90,85', '90,80-90', '1-65535,7']) test.same(twice(ports), ['ports'], ports)
  test.end()
})

t.test('a server is in a backend once, and a mask needs persistence', (test) => {
  const backend = { reals: [{ ripId: 'a' }], persistTimeout: 60, persistMask: '24' }
  test.same(backendProblems(backend), [])
  test.same(fields(backendProblems({ ...backend, reals: [{ ripId: 'a' }, { ripId: 'b' }, { ripId: 'a' }] })), [
    'reals.2.ripId',
  ])
  test.same(fields(backendProblems({ ...backend, persistTimeout: 0 })), ['persistMask'])
  test.end()
})

t.test('masks fit the family of the address', (test) => {
  test.equal(maskProblem(null, 'fd00::1'), undefined)
  test.equal(maskProblem('255.255.0.0', '192.0.2.1'), undefined)
  test.equal(maskProblem('32', '192.0.2.1'), undefined)
  test.match(maskProblem('33', '192.0.2.1'), /IPv6/)
  test.match(maskProblem('255.255.0.0', 'fd00::1'), /IPv4/)
  test.end()
})

t.test('a real server has an address that every program writes in one way', (test) => {
  for (const ip of ['10.0.0.1', 'fd00::1', '::1', '2001:db8::1.2.3.4']) test.equal(whyNoServer(ip), undefined, ip)
  for (const ip of ['::ffff:10.0.0.1', '::1.2.3.4', 'fe80::1']) test.type(whyNoServer(ip), 'string', ip)
  test.end()
})
