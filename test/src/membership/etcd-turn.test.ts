import t from 'tap'
import { inEtcdTurn } from '../../../src/membership/etcd-turn.ts'
import { EtcdInMemory } from '../../simulators/etcd-in-memory.ts'

t.test('one node at a time', async (t) => {
  const memory = new EtcdInMemory()
  const client = memory.client()
  const revoked: string[] = []
  let last = 0
  const leases = {
    grant: async (ttl_s: number) => ({ id: String((last += 1)), ttl_s }),
    revoke: async (id: string) => {
      revoked.push(id)
      if (id === '1') await client.delete({ key: '/f/turn' })
    },
  }
  const etcd = Object.assign(client, { leases }) as never
  let isOthers: boolean | undefined
  const isOurs = await inEtcdTurn(etcd, 'a', async () => {
    isOthers = await inEtcdTurn(etcd, 'b', async () => {
      t.fail('not its turn')
    })
  })
  t.same([isOurs, isOthers, revoked], [true, false, ['2', '1']])
  await t.rejects(inEtcdTurn(etcd, 'a', () => Promise.reject(new Error('no'))))
  t.equal(revoked.at(-1), '3', 'also when it fails')
})
