import t from 'tap'
import {
  putFields,
  rangeAnswer,
  rangeFields,
  transactionAnswer,
  transactionFields,
} from '../../../src/etcd/transaction.ts'

t.test('a range has only the requested fields', async (test) => {
  test.same(rangeFields({ key: 'a' }), { key: 'YQ==' })
  const all = {
    limit: 7,
    revision: 12,
    isSerializable: true,
    sort: { by: 'mod', isDescending: true },
    keysOnly: true,
    countOnly: true,
  } as const
  test.same(rangeFields({ prefix: 'a' }, all), {
    key: 'YQ==',
    range_end: 'Yg==',
    limit: 7,
    revision: 12,
    serializable: true,
    sort_target: 'MOD',
    sort_order: 'DESCEND',
    keys_only: true,
    count_only: true,
  })
  test.match(rangeFields({ key: 'a' }, { sort: { by: 'key' } }), { sort_target: 'KEY', sort_order: 'ASCEND' })
})

t.test("a transaction in the gateway's format", async (test) => {
  const fields = transactionFields({
    compare: [
      { key: 'a', of: 'modRevision', is: '=', than: 5 },
      { key: 'a', of: 'createRevision', is: '!=', than: 0 },
      { key: 'a', of: 'version', is: '<', than: 3 },
      { key: 'a', of: 'value', is: '>', than: '' },
    ],
    success: [{ put: 'a', value: 'b', lease: '9223372036854775807' }, { delete: { prefix: 'a' } }],
    failure: [{ get: { key: 'a' }, options: { keysOnly: true } }],
  })
  test.same(fields, {
    compare: [
      { key: 'YQ==', target: 'MOD', result: 'EQUAL', mod_revision: 5 },
      { key: 'YQ==', target: 'CREATE', result: 'NOT_EQUAL', create_revision: 0 },
      { key: 'YQ==', target: 'VERSION', result: 'LESS', version: 3 },
      { key: 'YQ==', target: 'VALUE', result: 'GREATER', value: '' },
    ],
    success: [
      { request_put: { key: 'YQ==', value: 'Yg==', lease: '9223372036854775807' } },
      { request_delete_range: { key: 'YQ==', range_end: 'Yg==' } },
    ],
    failure: [{ request_range: { key: 'YQ==', keys_only: true } }],
  })
  test.same(transactionFields({}), { compare: [], success: [], failure: [] })
  test.same(putFields('a', Uint8Array.of(0xff)), { key: 'YQ==', value: '/w==' })
})

const KV = {
  key: 'YQ==',
  create_revision: '2',
  mod_revision: '3',
  version: '2',
  value: '/w==',
  lease: '1234567890123456789',
}

t.test('answers', async (test) => {
  const kv = {
    key: Buffer.from('a'),
    value: Buffer.of(0xff),
    createRevision: 2,
    modRevision: 3,
    version: 2,
    lease: '1234567890123456789',
  }
  const range = { header: { revision: '9' }, kvs: [KV], more: true, count: '4' }
  test.same(rangeAnswer(range), { revision: 9, kvs: [kv], hasMore: true, count: 4 })
  const answer = {
    header: { revision: '9' },
    succeeded: true,
    responses: [
      { response_put: { header: { revision: '9' } } },
      { response_range: range },
      { response_delete_range: { deleted: '2' } },
    ],
  }
  test.same(transactionAnswer(answer), {
    succeeded: true,
    revision: 9,
    answers: [
      { did: 'put' },
      { did: 'get', range: { revision: 9, kvs: [kv], hasMore: true, count: 4 } },
      { did: 'delete', deleted: 2 },
    ],
  })
  test.same(transactionAnswer({ header: { revision: '9' } }), { succeeded: false, revision: 9, answers: [] })
  test.throws(() => transactionAnswer({ responses: [{}] }), /an unknown operation/)
})
