import t from 'tap'
import { applianceFixture } from '../../fixtures/appliance.ts'

t.test('decisions about two nodes are refused without a cluster, and invalid input before that', async (t) => {
  const { call } = await applianceFixture(t)
  const put = async (path: string, body: unknown) => {
    const { status, json } = await call('PUT', path, { body })
    return [status, json.code, json.errors?.[0]?.field]
  }
  t.same(await put('/cluster', { preferredNode: 'a', takeoverAfter: 1 }), [422, 'INVALID_BODY', 'takeoverAfter'])
  t.same(await put('/cluster', { preferredNode: 'a', takeoverAfter: null }), [404, 'NOT_FOUND', undefined])
  t.same(await put('/cluster', { preferredNode: 'a' }), [404, 'NOT_FOUND', undefined])
  t.same(await put('/cluster/takeover', { partnerIsOff: 'a' }), [422, 'INVALID_BODY', 'reason'])
  t.same(await put('/cluster/takeover', { partnerIsOff: 'a', reason: 'x' }), [404, 'NOT_FOUND', undefined])
  t.same(await put('/cluster/resolve', {}), [422, 'INVALID_BODY', 'keep'])
  t.same(await put('/cluster/resolve', { keep: 'a' }), [404, 'NOT_FOUND', undefined])
})
