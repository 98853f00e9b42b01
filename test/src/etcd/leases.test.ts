import t from 'tap'
import { simulated } from '../../fixtures/etcd-client.ts'

const ID = '9223372036854775807'

t.test('leases', async (test) => {
  const { client, asked } = await simulated(test, { 'lease/grant': { ID, TTL: '15' } })
  test.same(await client.leases.grant(15), { id: ID, ttl_s: 15 })
  await client.leases.revoke(ID)
  test.match(
    asked.map(({ path, fields }) => [path, fields]),
    [
      ['/v3/lease/grant', { TTL: 15 }],
      ['/v3/lease/revoke', { ID }],
    ],
  )
})
