import t from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

t.test('jobs are listed, read and cancelled; unknown ones are 404', async (test) => {
  const { call } = await borrow()
  test.match((await call('GET', '/jobs')).json, { status: 'success', data: [] })
  test.match((await call('GET', '/jobs/nope')).json, { code: 'NOT_FOUND' })
  test.match((await call('PUT', '/jobs/nope/cancel')).json, { code: 'NOT_FOUND' })
  for (const [method, path] of [
    ['GET', '/jobs/nope'],
    ['PUT', '/jobs/nope/cancel'],
  ] as const)
    test.match((await call(method, `${path}?node=lb9`)).json, { message: 'There is no node with id lb9' })
})
