import t from 'tap'
import { hostNameProblems, memberNameProblems, resolveProblems } from '../../../src/rules/host-names.ts'
import { l4Backend, realServer } from '../../fixtures/config.ts'

const NAMED = realServer('r1', { ip: 'web.test' })

t.test('a Layer 4 backend has no members with names', (t) => {
  const backends = [l4Backend('b', ['r0', 'r1']), l4Backend('c', ['r0'])]
  t.match(hostNameProblems(NAMED, backends), [{ field: 'ip', message: /Layer 4 backend b/ }])
  t.equal(hostNameProblems(NAMED, backends).length, 1)
  t.same(hostNameProblems(realServer('r1'), backends), [])
  const find = (id: string) => (id === 'r1' ? NAMED : undefined)
  t.match(memberNameProblems(l4Backend('b', ['r0', 'r1']), find), [{ field: 'reals.1.ripId', message: /web\.test/ }])
  t.same(memberNameProblems(l4Backend('b', ['r0']), find), [])
  t.end()
})

t.test('an address is not resolved', (t) => {
  t.match(resolveProblems({ ip: '::1', resolve: 'start' }), [{ field: 'resolve' }])
  for (const one of [{ ip: '::1', resolve: 'live' }, { ip: '::1' }, { ip: 'a', resolve: 'start' }] as const)
    t.same(resolveProblems(one), [])
  t.end()
})
