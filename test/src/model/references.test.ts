import t from 'tap'
import { maybe, named, ofBackend } from '../../../src/model/references.ts'

t.test("a backend refers to its real servers, and to its check if that is a user's script", (test) => {
  const backend = { reals: [{ ripId: 'a' }, { ripId: 'b' }], healthCheck: { type: 'script' as const, id: 'own' } }
  test.same(ofBackend(backend), [
    { field: 'reals.0.ripId', section: 'realServers', id: 'a' },
    { field: 'reals.1.ripId', section: 'realServers', id: 'b' },
    { field: 'healthCheck.id', section: 'healthChecks', id: 'own' },
  ])
  test.equal(ofBackend({ ...backend, healthCheck: { type: 'script', id: 'ldap' } }).length, 2)
  test.equal(ofBackend({ ...backend, healthCheck: { type: 'tcp' } }).length, 2)
  test.end()
})

t.test('lists refer to each, an empty field to nothing', (test) => {
  test.same(named('roles', 'roles', ['r']), [{ field: 'roles.0', section: 'roles', id: 'r' }])
  for (const nothing of [null, undefined, '']) test.same(maybe('ipId', 'staticIps', nothing), [])
  test.end()
})
