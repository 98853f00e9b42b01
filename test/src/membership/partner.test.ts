import t from 'tap'
import type { Member } from '../../../src/membership/members.ts'
import { answeringPath, partnerIn } from '../../../src/membership/partner.ts'
import { freePort } from '../../fixtures/traffic.ts'

const node = (id: string) => ({ id, name: id, host: '127.0.0.1', port: 1 }) as unknown as Member
const among = (...ids: readonly string[]) => ({ all: () => ids.map(node), mayVote: () => new Set(ids) })

t.test('only one of two has a partner', async (t) => {
  t.equal(partnerIn(among('a', 'b'), 'a')?.id, 'b')
  t.equal(partnerIn(among('a'), 'a'), undefined)
  t.equal(partnerIn(among('a', 'b', 'c'), 'a'), undefined)
  t.equal(partnerIn(among('b', 'c'), 'a'), undefined)
})

t.test('none has one while a third vote may count', async (t) => {
  const members = { ...among('a', 'b'), mayVote: () => new Set(['a', 'b', 'w']) }
  t.equal(partnerIn(members, 'a'), undefined)
})

t.test('each path on which a node may answer', async (t) => {
  const port = await freePort()
  const paths = (isReachable: boolean, hasEtcd: boolean) => ({
    etcd: { maintenance: { status: async () => (hasEtcd ? ({} as never) : Promise.reject(new Error('nobody'))) } },
    peers: { livenessOf: () => ({ isReachable, heard_ms: undefined, why: undefined }) },
    apiPortOf: () => port,
  })
  t.equal(await answeringPath(paths(true, false), node('b')), 'its peer port')
  t.equal(await answeringPath(paths(false, true), node('b')), 'its etcd')
  t.equal(await answeringPath(paths(false, false), node('b')), undefined)
})
