import t from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

t.test('the list of services', async (test) => {
  const { call } = await borrow()
  const { data } = (await call('GET', '/services')).json
  test.match(data, [{ name: 'layer7proxy', canReload: true, canUpdate: true }])
  test.same(Object.keys(data[0]), ['name', 'fullName', 'canReload', 'canUpdate'])
})

t.test('a service update on a node in trial is only recorded as well', async (test) => {
  const { call, node } = await borrow()
  const answer = await call('PUT', `/${node}/services/layer7proxy/update`)
  test.match(answer, { status: 200, headers: { 'X-Dry-Run': 'true' }, json: { data: [], message: /Recorded only/ } })
  const reload = await call('PUT', `/${node}/services/layer7proxy/reload`)
  test.match(reload.json, { message: 'Service layer7proxy reloaded on one node', data: [] })
  test.notOk('X-Dry-Run' in reload.headers)
})
