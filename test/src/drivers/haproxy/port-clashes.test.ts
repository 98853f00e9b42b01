import t from 'tap'
import { newPorts, portClashes } from '../../../../src/drivers/haproxy/port-clashes.ts'
import { frontend } from '../../../fixtures/config.ts'

const clashes = (...frontends: Parameters<typeof frontend>[2][]): readonly string[] =>
  portClashes(frontends.map((more, index) => frontend(`f${index}`, null, more))).map(({ message }) => message)

t.test('two frontends on one port of one address', (t) => {
  const [problem] = portClashes([frontend('a', null), frontend('b', null)])
  t.match(problem, { section: 'l7Frontends', id: 'b', field: 'ports', message: /frontend a uses on 127\.0\.0\.1/ })
  t.end()
})

t.test('overlapping ranges, wildcards and other spellings clash', (t) => {
  t.equal(clashes({ ports: '80-90' }, { ports: '85' }).length, 1)
  t.equal(clashes({ ports: '10,80-90' }, { ports: '1-11,70-80' }).length, 1, 'a pair is reported once')
  t.equal(clashes({ ip: '0.0.0.0' }, { ip: '192.0.2.1' }).length, 1)
  t.equal(clashes({ ip: '::1' }, { ip: '0:0::1' }).length, 1)
  t.match(clashes({ ports: '80,70-90' }), ['Frontend f0 lists port 80 twice'])
  t.end()
})

t.test('ports that can be shared do not clash', (t) => {
  t.strictSame(clashes({ ip: '192.0.2.1' }, { ip: '192.0.2.2' }), [], 'other addresses')
  t.strictSame(clashes({ ip: '0.0.0.0' }, { ip: '::' }), [], 'other families')
  t.strictSame(clashes({ ports: '80-89' }, { ports: '90' }), [], 'neighbouring ports')
  t.strictSame(clashes({}, { enabled: false }), [], 'disabled frontends')
  t.end()
})

t.test('new ports are those that we do not hold yet', (t) => {
  const running = [frontend('a', null, { ports: '80-82' }), frontend('b', null, { ip: '::', ports: '90' })]
  const ports = (...desired: readonly ReturnType<typeof frontend>[]) =>
    newPorts(running, desired).map(({ ip, port, claimant }) => `${claimant} ${ip} ${port}`)
  t.strictSame(ports(...running), [])
  t.strictSame(ports(frontend('c', null, { ports: '81-84' })), ['frontend c 127.0.0.1 83', 'frontend c 127.0.0.1 84'])
  t.strictSame(ports(frontend('c', null, { ip: '0.0.0.0', ports: '80,90' })), ['frontend c 0.0.0.0 90'])
  t.strictSame(ports(frontend('c', null, { ports: '100', enabled: false })), [])
  t.equal(newPorts([], [frontend('c', null, { ports: '1-65535' })]).length, 1000, 'not too many')
  t.end()
})
