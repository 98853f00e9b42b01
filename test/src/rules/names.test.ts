import t from 'tap'
import { namesInTurns, nameRecord, nameUsers, verifyNames } from '../../../src/rules/names.ts'
import { realServer, user } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

t.test('two records of a section with one name are a problem of the second, however it is written', async (test) => {
  for (const [name, other] of [
    ['web', 'WEB'],
    ['caf\u00e9', 'CAFE\u0301'],
  ] as const) {
    const view = viewOf({
      realServers: [realServer('a', { name }), realServer('b', { name: other }), realServer('c')],
      users: [user('web')],
    })
    const message = new RegExp(`named ${other}`)
    test.match(verifyNames(view), [{ section: 'realServers', id: 'b', field: 'name', message }])
  }
})

t.test('a record is identified by kind and name, with its id beside them', async (test) => {
  test.equal(nameRecord('l7Frontends', { id: 'f-1', name: 'web' }), 'Layer 7 frontend web (f-1)')
  test.equal(nameRecord('clocks', { id: 'node-1', name: 'node-1' }), 'clock node-1')
  const usage = [
    { resource: 'users', id: 'u', name: 'ann@corp.example', field: 'groups' },
    { resource: 'another', id: 'x', name: 'this', field: 'y' },
  ]
  test.equal(nameUsers(usage), 'user ann@corp.example (u), this')
})

t.test('long lists are checked with pauses', async (test) => {
  const view = viewOf({
    realServers: Array.from({ length: 1200 }, (_, at) => realServer(`r${at}`, { name: `n${at}` })),
  })
  test.same([...namesInTurns(view)], [undefined, undefined])
  test.same(verifyNames(view), [])
})
