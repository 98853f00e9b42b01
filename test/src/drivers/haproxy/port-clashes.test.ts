import t from 'tap'
import { portClashes } from '../../../../src/drivers/haproxy/port-clashes.ts'
import { frontend } from '../../../config-fixture.ts'

const clashes = (...frontends: Parameters<typeof frontend>[2][]): readonly string[] =>
  portClashes(frontends.map((more, index) => frontend(`f${index}`, null, more))).map(({ message }) => message)

t.test('two frontends on one port of one address', (t) => {
  const [problem] = portClashes([frontend('a', null), frontend('b', null)])
  t.match(problem, { section: 'l7Frontends', id: 'b', field: 'ports', message: /frontend a has on 127\.0\.0\.1/ })
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

t.test('what can be shared does not clash', (t) => {
  t.strictSame(clashes({ ip: '192.0.2.1' }, { ip: '192.0.2.2' }), [], 'other addresses')
  t.strictSame(clashes({ ip: '0.0.0.0' }, { ip: '::' }), [], 'other families')
  t.strictSame(clashes({ ports: '80-89' }, { ports: '90' }), [], 'neighbouring ports')
  t.strictSame(clashes({}, { enabled: false }), [], 'disabled frontends')
  t.end()
})
