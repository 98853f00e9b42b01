/**
 * The log of a cluster on the etcd of Debian 13: three stores that are written concurrently end up with the same
 * content.
 */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { ApiError } from '../../src/base/errors.ts'
import { encodeEnvelope, envelopeOf } from '../../src/cluster/envelope.ts'
import { LargeValues } from '../../src/cluster/large-values.ts'
import { Checkpoints } from '../../src/cluster/checkpoint.ts'
import { ClusterLog } from '../../src/cluster/cluster-log.ts'
import type { ClusterLogParts } from '../../src/cluster/cluster-log-parts.ts'
import { BASE, GUARD, logName, markerOf } from '../../src/cluster/places.ts'
import type { EtcdClient } from '../../src/etcd/client.ts'
import type { Folding } from '../../storage/config/fold.ts'
import { LmdbConfigStore } from '../../storage/config/lmdb-config-store.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { amendIn, freezeIn, promoteIn, thawIn } from '../fixtures/entries.ts'
import { HISTORY, type LogNode, LogCluster, stageOn, thing } from '../fixtures/cluster.ts'
import { EtcdCluster } from '../fixtures/etcd.ts'
import { until } from '../fixtures/until.ts'
import { etcdPrograms } from '../fixtures/etcd-programs.ts'

const programs = await etcdPrograms()
const skip = typeof programs === 'string' ? programs : false

t.setTimeout(1_800_000)

const valueOf = ({ store }: LogNode, key: string) => store.candidate.get('things', '', key)?.value
const reached = (node: LogNode, position: number) =>
  until(`${node.id} at ${position}`, () => node.log.position >= position)

const header = { applyId: 'apply', revision: 1, by: 'tester', at: '2026-01-02T03:04:05.000Z', comment: '' }

/** Entries between two checkpoints. */
const EVERY = 100

async function threeNodes(test: Parameters<typeof EtcdCluster.start>[0]) {
  if (typeof programs === 'string') throw new Error(programs)
  const cluster = await LogCluster.form(test, await EtcdCluster.start(test, programs, 3))
  const nodes = await Promise.all([0, 1, 2].map((index) => cluster.node(index, { checkpointEvery: EVERY })))
  const [first, second, third] = nodes
  if (first === undefined || second === undefined || third === undefined) throw new Error('three nodes')
  return { cluster, nodes, first, second, third }
}

function sameEverywhere(test: { same(found: unknown, wanted: unknown, message: string): unknown }, nodes: LogNode[]) {
  const sorted = ({ store }: LogNode) => {
    const { running, candidate, ...rest } = store.folding.snapshot()
    const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1)
    return { ...rest, running: running.toSorted(byKey), candidate: candidate.toSorted(byKey) }
  }
  const [first, ...others] = nodes
  for (const other of others) test.same(sorted(other), first && sorted(first), `${other.id} has the same content`)
}

const picked = (etcd: EtcdClient): Omit<ClusterLogParts['etcd'], 'watch'> => ({
  range: (span, options) => etcd.range(span, options),
  put: (key, value, options) => etcd.put(key, value, options),
  delete: (span, options) => etcd.delete(span, options),
  transact: (transaction, options) => etcd.transact(transaction, options),
})

t.test('concurrent edits on all nodes', { skip }, async (test) => {
  const { nodes, first } = await threeNodes(test)
  const EACH = 30
  const add = (node: LogNode) =>
    node.store.edit(() => {
      const count = Number(valueOf(node, 'count') ?? 0) + 1
      const origin = { actor: node.id, endpoint: 'test', at: '2026-01-02T03:04:05.000Z' }
      const writes = [{ ...thing('count', count), changeId: `${node.id}-${count}` }]
      return { result: count, entry: { op: 'stage', origin, writes, discards: [] } }
    })
  const answers = await Promise.all(
    nodes.map(async (node) => {
      const mine: number[] = []
      for (let i = 0; i < EACH; i++) mine.push(await add(node))
      return mine
    }),
  )
  test.same(
    answers.flat().toSorted((a, b) => a - b),
    Array.from({ length: 3 * EACH }, (_, i) => i + 1),
    'none is lost',
  )
  await Promise.all(nodes.map((node) => reached(node, 3 * EACH)))
  test.equal(valueOf(first, 'count'), 3 * EACH)
  sameEverywhere(test, nodes)
})

t.test('large entries, and one that loses its race', { skip }, async (test) => {
  const { cluster, nodes, first, second, third } = await threeNodes(test)
  const large = randomBytes(3 * 1024 * 1024).toString('base64')
  await Promise.all([stageOn(first, 'large', large), stageOn(second, 'small', 1)])
  await Promise.all(nodes.map((node) => reached(node, 2)))
  test.ok(valueOf(third, 'large') === large && valueOf(third, 'small') === 1)
  sameEverywhere(test, nodes)
  const parts = await cluster.etcd.client().range({ prefix: '/f/part/' }, { keysOnly: true })
  const written = new Set(parts.kvs.map(({ key }) => Buffer.from(key).toString().split('/')[4]))
  test.equal(written.size, 1, 'the lost attempt left nothing behind')
})

t.test('the leader is killed while nodes write, and its node continues with another member', { skip }, async (test) => {
  const { cluster, nodes, first } = await threeNodes(test)
  const leader = await cluster.etcd.leader()
  let done = 0
  const writes = nodes.map(async (node) => {
    for (let i = 0; i < 20; i++) {
      await stageOn(node, `${node.id}-${i}`, i)
      done += 1
      if (done === 20) await leader.kill()
    }
  })
  await Promise.all(writes)
  await Promise.all(nodes.map((node) => reached(node, 60)))
  test.equal(first.store.candidate.list('things', '').length, 60)
  await leader.start()
  await cluster.etcd.healthy(leader)
  await stageOn(first, 'after', 1)
  await Promise.all(nodes.map((node) => reached(node, first.log.position)))
  sameEverywhere(test, nodes)
})

t.test(
  'without a majority nothing is changed, existing records can be read, and writes continue afterwards',
  { skip },
  async (test) => {
    const { cluster, nodes, first, second } = await threeNodes(test)
    await stageOn(first, 'a', 1)
    await reached(second, 1)
    await cluster.etcd.member(1).kill()
    await cluster.etcd.member(2).kill()
    const refusal = await stageOn(second, 'a', 2).then(
      () => undefined,
      (error: unknown) => error,
    )
    test.ok(refusal instanceof ApiError && refusal.code === 'NO_QUORUM', String(refusal))
    test.equal(valueOf(second, 'a'), 1)
    await cluster.etcd.member(1).start()
    await cluster.etcd.healthy(cluster.etcd.member(1))
    await until('a change is taken again', () =>
      stageOn(first, 'a', 3).then(
        () => true,
        () => undefined,
      ),
    )
    await until('it is everywhere', () => nodes.every((node) => valueOf(node, 'a') === 3))
    sameEverywhere(test, nodes)
  },
)

t.test('a node that cannot read an entry stops there, and reports why', { skip }, async (test) => {
  const { cluster, first, second, third } = await threeNodes(test)
  await stageOn(first, 'a', 1)
  await Promise.all([second, third].map((node) => reached(node, 1)))
  const etcd = cluster.etcd.client()
  const write = async (position: number, value: Uint8Array) => {
    await etcd.transact({
      success: [
        { put: logName(position), value },
        { put: GUARD, value: markerOf(HISTORY, position) },
      ],
    })
  }
  const values = new LargeValues(etcd, cluster.keys)
  const newer = { ...envelopeOf('x', 'node-9', '', { op: 'confirm', applyId: 'a' }), v: 2 }
  await write(2, await values.sealed(logName(2), encodeEnvelope(newer), 2, 'x'))
  await until('it stops', () => first.log.halted)
  test.match(first.log.halted, /entry 2 of the cluster's log cannot be applied on this node: it has version 2/)
  await test.rejects(stageOn(first, 'b', 1), { code: 'NO_QUORUM' })
  test.equal(valueOf(first, 'a'), 1)
  test.equal(first.log.position, 1)
})

t.test('entries written by a stranger, or moved to another place, are not carried out', { skip }, async (test) => {
  const { cluster, first } = await threeNodes(test)
  await stageOn(first, 'a', 1)
  const etcd = cluster.etcd.client()
  const { kvs } = await etcd.range({ key: logName(1) })
  const value = kvs[0]?.value ?? ''
  await etcd.transact({
    success: [
      { put: logName(2), value },
      { put: GUARD, value: markerOf(HISTORY, 2) },
    ],
  })
  await until('it stops', () => first.log.halted)
  test.match(first.log.halted, /entry 2 .*was modified, or belongs to another place/)
  test.equal((await etcd.range({ key: BASE })).count, 0)
})

/** Writes so many edits of one record, by one node after another. */
async function writeMany(nodes: readonly LogNode[], from: number, to: number): Promise<void> {
  for (let i = from; i < to; i++) {
    const node = nodes[i % nodes.length]
    if (node !== undefined) await stageOn(node, `key-${i % 50}`, { i })
  }
}

t.test('a checkpoint is made, and a node that was away for long begins with it', { skip }, async (test) => {
  const { cluster, first, second, third } = await threeNodes(test)
  await third.log.close()
  await writeMany([first, second], 0, 2 * EVERY + 10)
  const etcd = cluster.etcd.client()
  const digests = await until('two checkpoints are made and compared', () => first.log.position >= 2 * EVERY + 12)
  test.ok(digests)
  await reached(second, first.log.position)
  test.same([first.log.halted, second.log.halted], [undefined, undefined])
  await until('old entries are gone', async () => (await etcd.range({ key: logName(EVERY) })).count === 0)
  test.equal((await etcd.range({ key: logName(EVERY + 1) })).count, 1, 'the log is longer than needed')
  const { folding } = third.store
  const again = await ClusterLog.open({ ...cluster.parts('node-3', folding), etcd: third.etcd, checkpointEvery: EVERY })
  test.teardown(() => again.close())
  const back = { ...third, log: again }
  await reached(back, first.log.position)
  sameEverywhere(test, [first, second, back])
})

t.test('a store that differs is noticed at the next checkpoint', { skip }, async (test) => {
  const { first, second, third } = await threeNodes(test)
  await stageOn(first, 'a', 1)
  await Promise.all([second, third].map((node) => reached(node, 1)))
  const { folding } = third.store
  const state = folding.snapshot()
  const candidate = state.candidate.map((change) => ({ ...change, stored: { value: 2, revision: 1 } }))
  await folding.replace({ ...state, candidate }, 1)
  await writeMany([first], 0, EVERY)
  await until('it is noticed', () => third.log.halted)
  test.match(third.log.halted, /after entry 100 the state of this node differs from that of node-1/)
  test.same([first.log.halted, second.log.halted], [undefined, undefined])
})

t.test('a node whose member hangs learns of writes by others', { skip }, async (test) => {
  const { cluster, nodes, first, second } = await threeNodes(test)
  await stageOn(first, 'a', 1)
  await Promise.all(nodes.map((node) => reached(node, 1)))
  const member = cluster.etcd.member(1)
  await member.pause()
  await stageOn(first, 'a', 2)
  await reached(second, 2)
  test.equal(valueOf(second, 'a'), 2, 'although its watch is still open')
  member.resume()
})

t.test('a field that is removed is gone on all nodes', { skip }, async (test) => {
  const { nodes, first } = await threeNodes(test)
  await stageOn(first, 'a', { note: 'x', kept: 1, never: undefined })
  await promoteIn(first.store, first.store.changes(), header)
  await amendIn(first.store, thing('a', undefined), { note: undefined })
  await Promise.all(nodes.map((node) => reached(node, 3)))
  for (const { id, store } of nodes) test.strictSame(store.running.get('things', '', 'a')?.value, { kept: 1 }, id)
  sameEverywhere(test, nodes)
})

t.test('an entry that no node could carry out does not get into the log', { skip }, async (test) => {
  const { nodes, first, second } = await threeNodes(test)
  await stageOn(first, 'a', 1)
  await freezeIn(first.store, () => true)
  await reached(second, 2)
  await test.rejects(amendIn(second.store, thing('b', undefined), { note: 1 }), /while an apply is running/)
  await thawIn(second.store)
  await Promise.all(nodes.map((node) => reached(node, 3)))
})

t.test('a late checkpoint does not replace a newer one', { skip }, async (test) => {
  const { cluster, first } = await threeNodes(test)
  const etcd = cluster.etcd.client()
  const checkpoints = new Checkpoints(etcd, new LargeValues(etcd, cluster.keys), EVERY)
  const state = first.store.folding.snapshot()
  for (const position of [2 * EVERY, EVERY, 3 * EVERY]) await checkpoints.write({ position, state, digest: 'd' })
  test.equal((await checkpoints.read())?.position, 3 * EVERY)
  await checkpoints.write({ position: EVERY, state, digest: 'd' })
  test.equal((await checkpoints.read())?.position, 3 * EVERY)
})

t.test('a node is closed while it catches up and there is no room', { skip }, async (test) => {
  const { cluster, first } = await threeNodes(test)
  await stageOn(first, 'a', 1)
  const store = new LmdbConfigStore(temporaryFolder(test, 'full'))
  test.teardown(() => store.close())
  const { folding } = store
  let tries = 0
  const full: Folding = {
    get position() {
      return folding.position
    },
    fold: async (entry, position) => {
      tries += position > 1 ? 1 : 0
      if (position > 1) throw new Error('there is no room')
      await folding.fold(entry, position)
    },
    check: (entry) => folding.check(entry),
    snapshot: () => folding.snapshot(),
    records: () => folding.records(),
    replace: (state, position) => folding.replace(state, position),
  }
  const client = cluster.etcd.client()
  const etcd = { ...picked(client), watch: () => Promise.reject(new Error('no watch')) }
  const log = await ClusterLog.open({ ...cluster.parts('node-4', full), etcd })
  await stageOn(first, 'a', 2)
  await until('it reads on', () => tries > 0)
  await log.close()
  test.equal(log.position, 1)
})
