import t from 'tap'
import { applianceFixture } from '../../appliance-fixture.ts'

t.test('an apply without changes makes no revision', async (test) => {
  const { call, machine } = await applianceFixture(test)
  machine.host.takeJournal()
  const answer = await call('PUT', '/services/apply', { body: { comment: 'nothing' } })
  test.match(answer.json.data, { applyId: String, revision: 1 })
  test.same((await call('PUT', '/services/apply', { body: {} })).json.data, [])
  test.equal((await call('GET', '/services/pending')).json.data.revision, 1)
  test.same(machine.host.journal, [])
})

t.test('a comment and a force are checked', async (test) => {
  const { call } = await applianceFixture(test)
  const long = await call('PUT', '/services/apply', { body: { comment: 'x'.repeat(1001) } })
  test.match(long.json, { code: 'INVALID_BODY', errors: [{ field: 'comment' }] })
  test.match((await call('PUT', '/services/apply?force=reload')).json, {
    code: 'INVALID_QUERY',
    errors: [{ field: 'force' }],
  })
})
