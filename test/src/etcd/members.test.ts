import t from 'tap'
import { simulated } from '../../fixtures/etcd-client.ts'

const ID = '17790612388982094074'

t.test('members', async (test) => {
  const fresh = { ID, peerURLs: ['https://192.0.2.3:2380'], isLearner: true }
  const { client, asked } = await simulated(test, {
    'cluster/member/list': { members: [{ ID: '1', name: 'n1', clientURLs: ['https://192.0.2.1:2379'] }, fresh] },
    'cluster/member/add': { member: fresh, members: [fresh] },
  })
  const learner = { id: ID, name: '', peerUrls: ['https://192.0.2.3:2380'], clientUrls: [], isLearner: true }
  test.same(await client.members.list(), [
    { id: '1', name: 'n1', peerUrls: [], clientUrls: ['https://192.0.2.1:2379'], isLearner: false },
    learner,
  ])
  await client.members.list({ isSerializable: true })
  test.same(await client.members.add(['https://192.0.2.3:2380'], { isLearner: true }), learner)
  await client.members.promote(ID)
  await client.members.update(ID, ['https://192.0.2.4:2380'])
  await client.members.remove(ID)
  test.match(
    asked.map(({ path, fields, headers }) => [path, fields, headers['grpc-metadata-hasleader']]),
    [
      ['/v3/cluster/member/list', { linearizable: true }, 'true'],
      ['/v3/cluster/member/list', { linearizable: false }, undefined],
      ['/v3/cluster/member/add', { peerURLs: ['https://192.0.2.3:2380'], isLearner: true }, 'true'],
      ['/v3/cluster/member/promote', { ID }, 'true'],
      ['/v3/cluster/member/update', { ID, peerURLs: ['https://192.0.2.4:2380'] }, 'true'],
      ['/v3/cluster/member/remove', { ID }, 'true'],
    ],
  )
})
