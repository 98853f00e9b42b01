import t from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

t.test('the time for connections is a whole number of seconds, at most five minutes', async (test) => {
  const { call, node, machine } = await borrow()
  for (const query of ['drain=-1', 'drain=301', 'drain=1.5', 'force=maybe', 'wait=1']) {
    const { status, json } = await call('PUT', `/${node}/system/halt?${query}`)
    test.match({ status, code: json.code }, { status: 422, code: 'INVALID_QUERY' }, query)
  }
  test.same(machine.host.journal, [])
  test.equal((await call('PUT', `/${node}/system/halt?drain=300&force=true`)).status, 200)
})
