import t from 'tap'
import { applianceFixture } from '../../fixtures/appliance.ts'

t.test('the audit log is searched by every field, and a wrong query is refused', async (test) => {
  const { call } = await applianceFixture(test)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web', ip: '192.0.2.9', port: 80 } })
  const count = async (query: string) => (await call('GET', `/audit?${query}`)).json.data?.length
  test.equal(await count(''), 2)
  test.equal(await count('endpoint=realServers.create'), 1)
  test.equal(await count('by=admin@localhost&outcome=done'), 2)
  test.equal(await count('address=192.0.2.77'), 0)
  test.equal(await count('text=192.0.2.9'), 1)
  test.equal(await count('from=2999-01-01'), 0)
  test.equal(await count('to=2000-01-01'), 0)
  for (const query of ['limit=0', 'limit=1001', 'from=yesterday', 'outcome=maybe', 'text=']) {
    test.match((await call('GET', `/audit?${query}`)).json, { code: 'INVALID_QUERY' }, query)
  }
})
