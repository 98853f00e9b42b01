import t from 'tap'
import { shownChange } from '../../../src/config/shown-change.ts'
import { realServer, user } from '../../config-fixture.ts'

t.test('an update shows what differs, secrets masked', async (test) => {
  const [before, after] = [user('u'), user('u', { passwordHash: 'another', lastName: 'C' })]
  test.same(shownChange({ section: 'users', id: 'u', before, after }), {
    op: 'update',
    resource: 'users',
    resourceId: 'u',
    name: 'u@example.test',
    before: { passwordHash: '**', lastName: 'B' },
    after: { passwordHash: '**', lastName: 'C' },
  })
})

t.test('a creation shows the record, and so does a deletion', async (test) => {
  const record = realServer('r')
  test.match(shownChange({ section: 'realServers', id: 'r', before: undefined, after: record }), {
    op: 'create',
    before: null,
    after: record,
  })
  test.match(shownChange({ section: 'realServers', id: 'r', before: record, after: undefined }), {
    op: 'delete',
    before: record,
    after: null,
  })
})
