import t from 'tap'
import { applianceFixture } from '../../fixtures/appliance.ts'

t.test('a node in no cluster says so, and invalid input changes nothing', async (t) => {
  const { call } = await applianceFixture(t)
  t.match(await call('GET', '/cluster'), { status: 200, json: { data: null } })
  const post = async (path: string, body: unknown) => {
    const { status, json } = await call('POST', path, { body })
    return [status, json.code, json.errors?.[0]?.field]
  }
  t.same(await post('/cluster', { name: 'site' }), [422, 'INVALID_BODY', 'address'])
  t.same(await post('/cluster', { name: 'site', address: 'x:y' }), [422, 'INVALID_BODY', 'address'])
  t.same(await post('/cluster', { name: 'site', address: '192.0.2.1', more: 1 }), [422, 'INVALID_BODY', 'more'])
  t.same(await post('/cluster/tokens', { validFor: 5 }), [422, 'INVALID_BODY', 'validFor'])
  t.same(await post('/cluster/tokens', {}), [404, 'NOT_FOUND', undefined])
  t.same(await post('/cluster/join', { token: 'x', address: '192.0.2.1:9444' }), [422, 'INVALID_BODY', 'token'])
  t.match(await call('GET', '/cluster'), { json: { data: null } })
})
