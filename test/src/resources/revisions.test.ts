import t from 'tap'
import { revisions } from '../../../src/resources/revisions.ts'
import { applianceFixture } from '../../appliance-fixture.ts'

t.test('an earlier revision is compared, restored into the candidate, and applied', async (test) => {
  const { call } = await applianceFixture(test)
  const rip = async (body: object) => (await call('POST', '/ipvsDirector/rips', { body })).json.data.id
  const id = await rip({ name: 'web', ip: '192.0.2.9', port: 80 })
  await call('PUT', '/services/apply', { body: { comment: 'first' } })
  await call('PUT', `/ipvsDirector/rips/${id}`, { body: { port: 80, weight: 7 } })
  await call('PUT', '/services/apply')
  const [second, first] = (await call('GET', '/revisions')).json.data
  test.match(first, { comment: 'first', by: 'admin@localhost', count: 1 })
  test.match((await call('GET', `/revisions/${first.revision}/diff/${second.revision}`)).json, {
    message: `From revision ${first.revision} to revision ${second.revision}`,
    data: [{ op: 'update', resourceId: id, before: { weight: 100 }, after: { weight: 7 } }],
  })
  test.equal((await call('PUT', `/revisions/${first.revision}/restore`)).status, 200)
  test.match((await call('GET', '/services/pending')).json.data, { count: 1, changes: [{ after: { weight: 100 } }] })
  await call('PUT', '/services/apply')
  test.match((await call('GET', `/ipvsDirector/rips/${id}`)).json.data, { weight: 100 })
  for (const path of ['/revisions/99/restore', '/revisions/x/restore', '/revisions/1e1/restore']) {
    test.match((await call('PUT', path)).json, { code: 'NOT_FOUND' }, path)
  }
})

t.test('what a revision was is read before the turn to edit, for which others would wait', async (test) => {
  const restore = revisions.find(({ name }) => name === 'revisions.restore')
  const contents = { users: [] }
  const lifecycle = { revisions: { contents: async (revision: number) => ({ ...contents, revision }) } }
  const request = { params: { n: '7' } }
  const prepared = await restore?.prepare?.({ lifecycle } as never, request as never)
  const restored: unknown[] = []
  const ctx = { restore: (given: unknown) => restored.push(given) }
  restore?.handle(ctx as never, request as never, prepared as never)
  test.same(restored, [{ ...contents, revision: 7 }], 'at once')
})
