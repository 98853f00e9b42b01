import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { ApiError } from '../../../src/base/errors.ts'
import { EtcdError } from '../../../src/etcd/errors.ts'
import { MemoryCluster, staged, valueOn } from '../../fixtures/cluster-in-memory.ts'

t.test('an entry is answered when it is settled, and written once despite retries', async (t) => {
  const cluster = await MemoryCluster.form(t)
  let failures = 2
  let asked = 0
  const settle = async () => {
    asked += 1
    if ((failures -= 1) >= 0) throw new EtcdError('timeout', 'the partner does not answer')
  }
  const node = await cluster.node('node-1', { settle })
  await node.log.append(staged('a', 1), 0)
  t.equal(asked, 3)
  t.same(await cluster.entries(), [1])
})

t.test('an entry that cannot be settled is in force here, and is answered as open', async (t) => {
  const cluster = await MemoryCluster.form(t)
  const settle = () => Promise.reject(new EtcdError('unreachable', 'it refuses connections'))
  const node = await cluster.node('node-1', { settle })
  const error = await node.log.append(staged('a', 1), 0).catch((refusal: unknown) => refusal)
  t.match(error, { code: 'NO_QUORUM', message: /It is unknown whether the change was written/ })
  t.match(error, { details: { headers: undefined } }, 'no client sends it again by itself')
  t.same(await cluster.entries(), [1])
  // An unanswered entry is folded without a wait.
  while (valueOn(node, 'a') === undefined) await nextTurn()
  t.equal(valueOn(node, 'a'), 1)
})

t.test('an entry that must not be written now leaves no trace', async (t) => {
  const cluster = await MemoryCluster.form(t)
  const admits = async () => {
    throw new ApiError('NOT_SUPPORTED', 'not yet')
  }
  const node = await cluster.node('node-1', { admits })
  t.match(await node.log.append(staged('a', 1), 0).catch((refusal: unknown) => refusal), { code: 'NOT_SUPPORTED' })
  t.same(await cluster.entries(), [])
})

t.test('a node of another history writes nothing, and notices', async (t) => {
  const cluster = await MemoryCluster.form(t)
  const node = await cluster.node('node-1')
  await cluster.guard(0, '2:x')
  await node.log.append(staged('a', 1), 0).catch(() => undefined)
  t.same(await cluster.entries(), [])
  t.match(node.log.halted, /continued with history 2:x/)
})
