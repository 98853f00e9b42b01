import t from 'tap'
import { newNodeRequest } from '../../../src/cluster/authority.ts'
import { keyNotice } from '../../../src/cluster/key-notice.ts'
import { keyName } from '../../../src/cluster/places.ts'
import { ClusterKeys, newClusterKey } from '../../../src/cluster/sealing.ts'
import { learnKeys, takeKeys } from '../../../src/membership/own-keys.ts'
import { spkiOf } from '../../fixtures/cluster-in-memory.ts'
import { EtcdInMemory } from '../../simulators/etcd-in-memory.ts'

const [first, second, third] = [newClusterKey(), newClusterKey(), newClusterKey()]

/** A node that has the first key; later ones are for it. */
async function begun() {
  const { key: privateKey } = await newNodeRequest()
  const holder = { keys: new ClusterKeys('site', [first]), nodeId: 'lb1', privateKey }
  const notice = (key: typeof first, number: number, ids = ['lb1']) =>
    keyNotice(
      'site',
      key,
      ids.map((id) => ({ id, spki: spkiOf(privateKey) })),
      { number, at: '' },
    )
  return { holder, notice }
}

t.test('the newest key in the log seals', async (t) => {
  const { holder, notice } = await begun()
  const notices = [notice(second, 1), notice(third, 2)]
  takeKeys(holder, { keyNotices: () => notices })
  t.equal(holder.keys.newestKeyId, third.keyId)
  takeKeys(holder, { keyNotices: () => notices })
  t.equal(holder.keys.stored().length, 3, 'however often it is announced')
})

t.test('a key for other nodes is left to them', async (t) => {
  const { holder, notice } = await begun()
  takeKeys(holder, { keyNotices: () => [notice(second, 1, ['lb2'])] })
  t.equal(holder.keys.newestKeyId, first.keyId)
})

t.test('keys in etcd open, one through another, and do not seal', async (t) => {
  const { holder, notice } = await begun()
  const etcd = new EtcdInMemory().client()
  const put = async (key: typeof first, number: number, sealer: typeof first) => {
    const name = keyName(key.keyId)
    const sealed = new ClusterKeys('site', [sealer]).seal(name, Buffer.from(JSON.stringify(notice(key, number))))
    await etcd.put(name, sealed)
  }
  await put(second, 1, first)
  await put(third, 2, second)
  await etcd.put(keyName('00'), Buffer.alloc(60, 1))
  await learnKeys(holder, etcd)
  t.ok(holder.keys.has(second.keyId) && holder.keys.has(third.keyId))
  t.equal(holder.keys.newestKeyId, first.keyId)
})

t.test('a value that nodes did not seal is no key', async (t) => {
  const { holder, notice } = await begun()
  const etcd = new EtcdInMemory().client()
  const name = keyName(second.keyId)
  const sealed = new ClusterKeys('site', [first]).seal(name, Buffer.from(JSON.stringify(notice(second, 1))))
  sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1
  await etcd.put(name, sealed)
  await learnKeys(holder, etcd)
  t.notOk(holder.keys.has(second.keyId))
})
