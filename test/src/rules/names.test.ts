import t from 'tap'
import { verifyNames } from '../../../src/rules/names.ts'
import { realServer, user } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

t.test('two records of a section with one name are a problem of the second, whatever their case', async (test) => {
  const view = viewOf({
    realServers: [realServer('a', { name: 'web' }), realServer('b', { name: 'WEB' }), realServer('c')],
    users: [user('web')],
  })
  test.match(verifyNames(view), [{ section: 'realServers', id: 'b', field: 'name', message: /named WEB/ }])
})
