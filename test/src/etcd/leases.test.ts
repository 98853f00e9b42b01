import t from 'tap'
import { simulated } from '../../fixtures/etcd-client.ts'

const ID = '9223372036854775807'

t.test('leases', async (test) => {
  const { client, asked } = await simulated(test, {
    'lease/grant': { ID, TTL: '15' },
    'lease/keepalive': { result: { ID, TTL: '14' } },
    'lease/timetolive': { ID, TTL: '13', grantedTTL: '15', keys: ['YQ=='] },
  })
  test.same(await client.leases.grant(15), { id: ID, ttl_s: 15 })
  test.equal(await client.leases.keepAlive(ID), 14)
  test.same(await client.leases.timeToLive(ID), { left_s: 13, ttl_s: 15, keys: [Buffer.from('a')] })
  await client.leases.revoke(ID)
  test.match(
    asked.map(({ path, fields }) => [path, fields]),
    [
      ['/v3/lease/grant', { TTL: 15 }],
      ['/v3/lease/keepalive', { ID }],
      ['/v3/lease/timetolive', { ID, keys: true }],
      ['/v3/lease/revoke', { ID }],
    ],
  )
})

t.test('a lease that is gone', async (test) => {
  const { client } = await simulated(test, {
    'lease/keepalive': { result: { ID } },
    'lease/timetolive': { ID, TTL: '-1' },
  })
  test.equal(await client.leases.keepAlive(ID), 0)
  test.equal(await client.leases.timeToLive(ID), undefined)
  const kept = client.leases.keep({ id: ID, ttl_s: 0.03 })
  test.equal(kept.id, ID)
  await kept.lost
})
