import t from 'tap'
import { simulated } from '../../fixtures/etcd-client.ts'

const header = { revision: '9' }

t.test('requests, and the parsing of answers', async (test) => {
  const { client, asked } = await simulated(test, {
    'kv/range': { header, kvs: [{ key: 'YQ==', value: 'Yg==' }], count: '1' },
    'kv/put': { header },
    'kv/deleterange': { header, deleted: '3' },
    'kv/txn': { header, succeeded: true },
    'kv/compaction': { header },
  })
  test.match(await client.range({ key: 'a' }), { revision: 9, count: 1, kvs: [{ value: Buffer.from('b') }] })
  await client.range({ key: 'a' }, { isSerializable: true })
  test.equal(await client.put('a', 'b', { lease: '12' }), 9)
  test.equal(await client.delete({ prefix: 'a' }), 3)
  test.same(await client.transact({}), { succeeded: true, revision: 9, answers: [] })
  await client.compact(8)
  await client.compact(8, { isPhysical: true })
  test.match(
    asked.map(({ path, fields, headers }) => [path, fields, headers['grpc-metadata-hasleader']]),
    [
      ['/v3/kv/range', { key: 'YQ==' }, 'true'],
      ['/v3/kv/range', { key: 'YQ==', serializable: true }, undefined],
      ['/v3/kv/put', { key: 'YQ==', value: 'Yg==', lease: '12' }, 'true'],
      ['/v3/kv/deleterange', { key: 'YQ==', range_end: 'Yg==' }, 'true'],
      ['/v3/kv/txn', { compare: [], success: [], failure: [] }, 'true'],
      ['/v3/kv/compaction', { revision: 8, physical: false }, 'true'],
      ['/v3/kv/compaction', { revision: 8, physical: true }, 'true'],
    ],
  )
})

t.test('closed', async (test) => {
  const { client, asked } = await simulated(test, {})
  client.close()
  await test.rejects(client.put('a', 'b'), /the client was closed/)
  test.same(asked, [])
})
