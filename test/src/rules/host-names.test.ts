import t from 'tap'
import {
  hostNameProblems,
  memberNameProblems,
  memberPortProblems,
  resolveProblems,
  servicePortProblems,
} from '../../../src/rules/host-names.ts'
import { backend, l4Backend, realServer } from '../../fixtures/config.ts'

const NAMED = realServer('r1', { ip: 'web.test' })

t.test('a Layer 4 backend has no members with host names', (t) => {
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

t.test('SRV records contain ports, and are not for the C library', (t) => {
  const ip = '_http._tcp.svc.test'
  t.match(resolveProblems({ ip, resolve: 'start' }), [{ field: 'resolve', message: /^start is for host names/ }])
  t.same(resolveProblems({ ip, resolve: 'live' }), [])
  t.match(servicePortProblems({ ip, port: 80 }), [{ field: 'port', message: /^is determined by the SRV records/ }])
  t.same(servicePortProblems({ ip, port: null }), [])
  t.same(servicePortProblems({ ip: 'web.test', port: 80 }), [])
  const find = (id: string) => realServer(id, id === 'r1' ? { ip, port: null } : {})
  const group = backend('b', ['r0', 'r1'])
  t.same(memberPortProblems(group, find), [])
  const reals = group.reals.map((member) => ({ ...member, port: 81 }))
  t.match(memberPortProblems({ reals }, find), [{ field: 'reals.1.port', message: /SRV records of the .* r1/ }])
  t.match(hostNameProblems(find('r1'), [l4Backend('b', ['r1'])]), [{ field: 'ip' }])
  t.end()
})
